import type { Command } from 'commander'
import { COMMON, KAFKA, POSTGRES, readConfig } from '../runtime/config.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import { remedyOf } from '../store/halt.ts'
import { readLane } from '../store/lane-row.ts'
import { resumeLane } from '../store/resume-lane.ts'
import { assertOurs } from './assert-ours.ts'
import { ANSWERING, withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { integer, shortText, userName } from './options.ts'
import type { Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options {
  readonly reason: string
  readonly actor: string
}

export const addLaneResume = (noun: Command, run: Run) =>
  noun
    .command('resume')
    .description('clear a halt; the lane fences, looks again, and halts again if the cause stands')
    .argument('<lane>', 'its number, as in lane status', integer(0, 32_767))
    .requiredOption('--reason <text>', 'what was done about the cause; it is kept', shortText)
    .option('--actor <name>', 'who does it; it is kept', shortText, userName())
    .option('--dry-run', 'say what would be cleared, change nothing')
    .option('--yes', 'do not ask')
    .action((lane: number, options: Options, command: Command) =>
      run((context) => resume(context, lane, options), command),
    )

function resume({ env, dryRun, confirm }: CliContext, lane: number, { reason, actor }: Options): Promise<Output> {
  const { APP_ID: appId, TOPIC_PREFIX } = readConfig(
    { APP_ID: COMMON.APP_ID, TOPIC_PREFIX: KAFKA.TOPIC_PREFIX, ...POSTGRES },
    env,
  )
  const topic = TOPIC_PREFIX + INPUT_TOPIC
  return withDatabase(
    env,
    async (pool) => {
      await assertOurs(pool, appId, TOPIC_PREFIX)
      const row = await readLane(pool, topic, lane)
      if (row === undefined)
        throw new CliFailure(EXIT.findings, `There is no lane ${lane} of ${topic}.`, 'See: paidonce lane status')
      if (row.halted === undefined) return { json: { lane, result: 'not_halted' }, text: `Lane ${lane} is not halted.` }
      const why = `${row.halted.reason}: ${row.halted.detail}`
      if (dryRun)
        return { json: { lane, result: 'would_resume', halted: row.halted.reason }, text: `would clear ${why}` }
      await confirm(`Lane ${lane} is halted by ${why}\nRemedy: ${remedyOf(row.halted.reason, lane)}\nResume it?`)
      const resumed = await resumeLane(pool, appId, { topic, lane, actor, reason })
      const text =
        resumed.kind === 'resumed'
          ? `Lane ${lane} goes on, and halts again if the cause stands: paidonce lane status`
          : `Lane ${lane} is not halted any more.`
      return { json: { lane, result: resumed.kind, halted: row.halted.reason }, text }
    },
    ANSWERING,
  )
}
