import type pg from 'pg'
import type { Command } from 'commander'
import { KAFKA, POSTGRES, readConfig } from '../runtime/config.ts'
import { REPLAY_REFUSALS } from '../store/plan-replay.ts'
import { planView } from '../store/replay-plan-view.ts'
import {
  REPLAY_LETTERS_MAX,
  REPLAY_RUNS_MAX,
  requestReplay,
  type ReplayAsked,
  type Requested,
} from '../store/request-replay.ts'
import { readTopology } from '../store/topology.ts'
import { cliLog, readKafka, withDatabase } from './connect.ts'
import { chosen, letterIds, noteOf, takesAct, type ActOptions } from './dlq-filter.ts'
import { CliFailure, EXIT } from './failure.ts'
import { integer } from './options.ts'
import { table, type Output } from './render.ts'
import { reportRun } from './replay-report.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options extends ActOptions {
  readonly run?: number
  readonly quarantined?: boolean
  readonly wait: number
}

export const addDlqReplay = (noun: Command, run: Run) =>
  takesAct(
    noun
      .command('replay')
      .description('send dead letters into the input topic again, and say what became of each')
      .argument('[ids...]', 'which ones; without them those that are open', letterIds),
  )
    .option('--run <number>', 'go on with a replay that was stopped, or ask again what became of it', integer(1, 1e9))
    .option('--quarantined', 'also those that failed too often')
    .option('--wait <seconds>', 'how long to wait for the lanes', integer(0, 3_600), 30)
    .option('--dry-run', 'count them by reason, and say what would be refused; send nothing')
    .option('--yes', 'do not ask')
    .action((ids: number[], options: Options, command: Command) =>
      run((context) => (options.run === undefined ? start(context, ids, options) : goOn(context, options)), command),
    )

async function start(context: CliContext, ids: readonly number[], options: Options): Promise<Output> {
  const { env, dryRun, confirm } = context
  if (!dryRun) readConfig({ ...KAFKA, ...POSTGRES }, env)
  const filter = chosen(env, ids, options)
  const { actor, quarantined = false } = options
  const reason = noteOf(options)
  return withDatabase(env, async (pool) => {
    const partitions = await lanesOf(pool, filter.topic)
    const request = { filter, actor, reason, quarantined, partitions }
    const plan = planned(await requestReplay(pool, { ...request, dryRun: true }))
    const shown = shownPlan(plan)
    if (dryRun || plan.count === 0) return { ...shown, findings: hasRefusals(plan) }
    await confirm(`${shown.text}\nReplay ${plan.count} dead letters?`)
    const made = planned(await requestReplay(pool, { ...request, dryRun: false }))
    if (made.runId === undefined) return shownPlan(made) // Somebody else was quicker.
    const output = await sendAndReport(context, pool, made.runId, options.wait)
    const refused = shownPlan(made)
    return {
      json: { ...refused.json, ...(output.json as object) },
      text: hasRefusals(made) ? `${output.text}\n\n${refused.text}` : output.text,
      findings: output.findings === true || hasRefusals(made),
    }
  })
}

const hasRefusals = ({ refused, notThere }: Requested) => refused.length + notThere > 0

function planned(asked: ReplayAsked): Requested {
  if (asked.kind === 'requested') return asked
  const [problem, remedy] = [`${REPLAY_RUNS_MAX} replays are not sent yet.`, 'Go on with them: dlq replay --run.']
  if (asked.kind === 'too_many') throw new CliFailure(EXIT.findings, problem, remedy)
  throw new Error(`a request without a key was answered ${asked.kind}`)
}

const goOn = (context: CliContext, { run, wait }: Options): Promise<Output> =>
  withDatabase(context.env, (pool) => sendAndReport(context, pool, run ?? 0, wait))

async function sendAndReport({ env }: CliContext, pool: pg.Pool, runId: number, waitSec: number): Promise<Output> {
  const config = readConfig({ ...KAFKA, ...POSTGRES }, env)
  const { settings } = await readKafka(env)
  const { createPlainProducer } = await import('../runtime/kafka/plain-producer.ts')
  const { INPUT_TOPIC } = await import('../schemas/topics.ts')
  const topic = config.TOPIC_PREFIX + INPUT_TOPIC
  const producer = await createPlainProducer(settings, [topic], cliLog(env))
  try {
    return await reportRun(pool, producer, { topic, runId, waitMs: waitSec * 1_000 })
  } finally {
    await producer.close()
  }
}

async function lanesOf(pool: pg.Pool, topic: string): Promise<number> {
  const partitions = await readTopology(pool, topic)
  if (partitions !== undefined) return partitions
  throw new CliFailure(EXIT.undecided, `No topology is recorded for ${topic}.`, 'Run: paidonce topics create')
}

function shownPlan(plan: Requested) {
  const { byReason, refused, notThere, more } = plan
  const refusals = refused.map(({ id, why }) => [id, why, REPLAY_REFUSALS[why]])
  const said = [
    table(['reason', 'to replay'], Object.entries(byReason)),
    ...(refusals.length > 0 ? [`refused:\n${table(['id', 'why', 'that is'], refusals)}`] : []),
    ...(notThere > 0 ? [`${notThere} of the ids are not there.`] : []),
    ...(more ? [`More than ${REPLAY_LETTERS_MAX} are there: run it again for the rest.`] : []),
  ]
  return { json: { ...planView(plan), refused }, text: said.join('\n') }
}
