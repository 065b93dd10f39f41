import type { Command } from 'commander'
import { KAFKA } from '../runtime/config.ts'
import { skipRange } from '../store/skip-range.ts'
import { cliLog, readKafka } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { integer, shortText, userName } from './options.ts'
import type { Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'
import { withLanes } from './with-lanes.ts'

interface Options {
  readonly from: number
  readonly to: number
  readonly reason: string
  readonly actor: string
}
const offset = integer(0, Number.MAX_SAFE_INTEGER)

export const addLaneSkip = (noun: Command, run: Run) =>
  noun
    .command('skip')
    .description('never process a range of a lane’s records; halts the lane, which lane resume lets go on')
    .argument('<lane>', 'its number, as in lane status', integer(0, 32_767))
    .requiredOption('--from <offset>', 'the first offset to skip', offset)
    .requiredOption('--to <offset>', 'the offset after the last one', offset)
    .requiredOption('--reason <text>', 'why these records may be left out; it is kept', shortText)
    .option('--actor <name>', 'who does it; it is kept', shortText, userName())
    .option('--dry-run', 'say what would be skipped, change nothing')
    .option('--yes', 'do not ask')
    .action((lane: number, options: Options, command: Command) =>
      run((context) => skip(context, lane, options), command),
    )

async function skip({ env, dryRun, confirm }: CliContext, lane: number, options: Options): Promise<Output> {
  const { from, to, reason, actor } = options
  if (from >= to) throw new CliFailure(EXIT.usage, '--to must be above --from.', 'It is the offset after the last one.')
  return withLanes(env, KAFKA, async (pool, { appId, topic, laneOf }) => {
    const row = await laneOf(lane)
    if (from < row.appliedOffset) throw applied(row.appliedOffset)
    const end = await logEnd(env, topic, lane)
    if (to > end)
      throw new CliFailure(EXIT.findings, `The log of lane ${lane} ends at ${end}.`, `Give --to ${end} or less.`)
    const what = `offsets ${from} to ${to - 1} of lane ${lane}`
    if (dryRun) return { json: { lane, from, to, result: 'would_skip' }, text: `would skip ${what}` }
    await confirm(`Never process ${what}? Payments in them are lost to this installation.`)
    const done = await skipRange(pool, appId, { topic, lane, from, to, actor, reason })
    if (done.kind === 'unknown_lane') throw unknown(lane, topic)
    if (done.kind === 'applied') throw applied(done.appliedOffset)
    const text = `${what} will be skipped. The lane is halted; go on with: paidonce lane resume ${lane}`
    return { json: { lane, from, to, result: 'skipped', was_halted: done.wasHalted }, text }
  })
}

const unknown = (lane: number, topic: string) =>
  new CliFailure(EXIT.findings, `There is no lane ${lane} of ${topic}.`, 'See: paidonce lane status')
const applied = (appliedOffset: number) =>
  new CliFailure(
    EXIT.findings,
    `All below offset ${appliedOffset} is applied; what is done cannot be skipped.`,
    `Give --from ${appliedOffset} or more.`,
  )

async function logEnd(env: NodeJS.ProcessEnv, topic: string, lane: number): Promise<number> {
  const { settings } = await readKafka(env)
  const { createOffsetReader } = await import('../runtime/kafka/offset-reader.ts')
  const offsets = await createOffsetReader(settings, cliLog(env))
  try {
    return (await offsets.logRange(topic, lane)).end
  } finally {
    await offsets.close()
  }
}
