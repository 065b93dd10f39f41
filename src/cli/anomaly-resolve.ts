import { Option, type Command } from 'commander'
import { RESOLUTIONS, type Resolution } from '../orders/model.ts'
import type { AnomalyFilter } from '../store/list-anomalies.ts'
import {
  anomalyId,
  anomalyIds,
  filterOf,
  isNarrowed,
  takesActor,
  takesFilter,
  type AnomalyOptions,
} from './anomaly-filter.ts'
import { assertOurs } from './assert-ours.ts'
import { installationOf } from './brake-scope.ts'
import { ANOMALIES_MAX, findAll, listAll, type Chosen, type ChosenAnomaly } from './choose-anomalies.ts'
import { withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { integer, matching, shortText } from './options.ts'
import { table, type Output } from './render.ts'
import { answerAll, newRun, plainRefusal, RUN, runStartMs, type Answered, type ResolveRun } from './resolve-run.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options extends AnomalyOptions {
  readonly resolution: Resolution
  readonly reason: string
  readonly actor: string
  readonly all?: boolean
  readonly run?: string
  readonly after?: number
  readonly wait: number
}

export const addAnomalyResolve = (noun: Command, run: Run) =>
  takesActor(
    takesFilter(
      noun
        .command('resolve')
        .description('answer anomalies: those that are named, or all open ones that fit; the lanes decide')
        .argument('[ids...]', 'their numbers', anomalyIds),
    ),
  )
    .option('--all', 'all open ones')
    .addOption(new Option('--resolution <resolution>', 'the answer').choices(RESOLUTIONS).makeOptionMandatory())
    .requiredOption('--reason <text>', 'why; it is kept', shortText)
    .option('--run <run>', 'go on with a run that was stopped', matching(RUN, 'as the run said when it began'))
    .option('--after <id>', 'go on after the last one of the command before', anomalyId)
    .option('--wait <seconds>', 'how long the lanes may take for a hundred', integer(0, 3_600), 30)
    .option('--dry-run', 'count them by kind, and say what would be refused; change nothing')
    .option('--yes', 'do not ask')
    .action((ids: number[], options: Options, command: Command) =>
      run((context) => resolve(context, ids, options), command),
    )

async function resolve({ env, dryRun, confirm }: CliContext, ids: readonly number[], options: Options) {
  const { appId, topicPrefix } = installationOf(env)
  const run = options.run ?? newRun(Date.now())
  const filter = filterFor(ids, options, runStartMs(run))
  const asked: ResolveRun = { run, ...pick(options) }
  return withDatabase(env, async (pool): Promise<Output> => {
    // Another APP_ID's lanes would not be told, and would not answer in time.
    await assertOurs(pool, appId, topicPrefix)
    const chosen = filter === undefined ? await findAll(pool, ids) : await listAll(pool, filter, options.after)
    const { anomalies } = chosen
    const plan = planOf(chosen, asked)
    if (dryRun || anomalies.length === 0) return plan
    if (anomalies.length > 1) await confirm(`${plan.text}\nAnswer ${options.resolution} to them?`)
    const goOn = `go on with: --run ${run}`
    say(`run ${run}`)
    const answered = await answerAll(pool, appId, anomalies, {
      ...{ ...asked, waitMs: options.wait * 1_000 },
      onProgress: (so) => say(`${so.length} of ${anomalies.length} answered, ${countOf(so, 'refused')} refused`),
    }).catch((error: unknown) => {
      say(`It is not complete; ${goOn}`)
      throw error
    })
    return outputOf(asked, answered, chosen, goOn)
  })
}

const pick = ({ resolution, reason, actor }: Options) => ({ resolution, reason, actor })
const say = (text: string) => void process.stderr.write(`${text}\n`)

/** What changes many things is never meant by leaving all options out. Undefined: ids are given. */
function filterFor(ids: readonly number[], options: Options, startMs: number): AnomalyFilter | undefined {
  const given = isNarrowed(options) || options.all === true
  if (ids.length > 0 && (given || options.after !== undefined))
    throw new CliFailure(EXIT.usage, 'Ids and options that choose anomalies do not go together.', 'Give either.')
  if (ids.length === 0 && !given)
    throw new CliFailure(EXIT.usage, 'Nothing says which anomalies are meant.', 'Give ids, a filter, or --all.')
  if (ids.length > 0) return undefined
  const { untilMs = Infinity, ...filter } = filterOf(options, startMs)
  return { ...filter, state: 'open', untilMs: Math.min(untilMs, startMs) }
}

/** How many of which kind would be answered, and why others would not. */
function planOf({ anomalies, missing, next }: Chosen, asked: ResolveRun): Output {
  const counts = new Map<string, { kind: string; would: string; count: number }>()
  for (const anomaly of anomalies) {
    const { kind } = anomaly
    const would = whatWould(anomaly, asked)
    const line = counts.get(`${kind} ${would}`) ?? { kind, would, count: 0 }
    line.count++
    counts.set(`${kind} ${would}`, line)
  }
  const plan = [...counts.values()].sort((a, b) => b.count - a.count)
  const rows = plan.map(({ kind, would, count }) => [kind, would, count])
  return {
    json: { anomalies: anomalies.length, missing, next, resolution: asked.resolution, plan },
    text: [
      table(['kind', 'would be', 'anomalies'], rows),
      ...missing.map((id) => `There is no anomaly ${id}.`),
      ...(next === null ? [] : [`More than ${ANOMALIES_MAX} are there: these, then the rest with --after ${next}`]),
    ].join('\n'),
    findings: missing.length > 0 || plan.some(({ would }) => would !== asked.resolution),
  }
}

function whatWould(anomaly: ChosenAnomaly, asked: ResolveRun): string {
  const { resolution } = anomaly
  if (resolution !== null) return `refused: resolved before, ${resolution}`
  const refusal = plainRefusal(anomaly, asked)
  if (refusal === undefined) return asked.resolution
  return refusal.reason === 'claimed' ? `refused: claimed by ${refusal.owner}` : `refused: ${refusal.reason}`
}

const countOf = (answered: readonly Answered[], result: Answered['result']) =>
  answered.filter((each) => each.result === result).length
/** A large run's other refusals are in its JSON. */
const ROWS_MAX = 200

function outputOf(
  { run, resolution }: ResolveRun,
  answered: readonly Answered[],
  { missing, next }: Chosen,
  goOn: string,
): Output {
  const counts = {
    resolved: countOf(answered, 'resolved'),
    refused: countOf(answered, 'refused'),
    pending: countOf(answered, 'pending'),
  }
  const refusals = answered.filter((each) => each.result === 'refused')
  const rows = refusals.slice(0, ROWS_MAX).map(({ id, reason, detail }) => [id, reason, detail])
  const text = [
    `${counts.resolved} resolved as ${resolution}, ${counts.refused} refused, ${counts.pending} not answered yet`,
    ...(rows.length > 0 ? [table(['id', 'refused', 'why'], rows)] : []),
    ...missing.map((id) => `There is no anomaly ${id}.`),
    ...(counts.pending > 0 ? [`Is a processor up? To ${goOn}`] : []),
    ...(next === null ? [] : [`More than ${ANOMALIES_MAX} are there: for the rest ${goOn} --after ${next}`]),
  ]
  return {
    json: { run, resolution, ...counts, missing, next, anomalies: answered },
    text: text.join('\n'),
    findings: counts.refused + missing.length > 0,
    undecided: counts.pending > 0,
  }
}
