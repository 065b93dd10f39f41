import type { Command } from 'commander'
import type { AuditReport } from '../reconcile/audit/start.ts'
import { assertOurs } from './assert-ours.ts'
import { ANSWERING, cliLog, withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { shortText, timeOrAgo, userName } from './options.ts'
import { isoOf, listing, table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options {
  readonly since?: Date
  readonly until?: Date
  readonly resume?: true
  readonly actor: string
}

const DAY_MS = 86_400_000
/** What was written just now may not be out yet, and is the next run's. */
const SETTLE_MS = 60_000
const ROWS_MAX = 100

export const addAuditRun = (noun: Command, run: Run) =>
  noun
    .command('run')
    .description('compare every payment transition in Postgres with the events in the topics; 1 if they differ')
    .option('--since <time>', 'written then or later (a time, or how long ago: 2h); a day before --until', timeOrAgo)
    .option('--until <time>', 'written before it, and before now; a minute ago', timeOrAgo)
    .option('--resume', 'go on with the run that was stopped')
    .option('--actor <name>', 'who does it; it is kept', shortText, userName())
    .action((options: Options, command: Command) => run((context) => audit(context, options), command))

async function audit({ env, reach }: CliContext, { since, until, resume, actor }: Options): Promise<Output> {
  const window = resume === true ? undefined : windowOf(since, until, Date.now())
  if (resume === true && (since !== undefined || until !== undefined))
    throw new CliFailure(EXIT.usage, '--resume has the window of the run that was stopped.', 'Leave out the times.')
  const { readAuditConfig } = await import('../reconcile/audit/config.ts')
  const { runAudit } = await import('../reconcile/audit/start.ts')
  const config = readAuditConfig(env)
  const onProgress = (what: string) => {
    if (process.stderr.isTTY) process.stderr.write(`${what}\n`)
  }
  const request = { actor, window, onProgress, reach }
  const end = await withDatabase(
    env,
    async (pool) => {
      await assertOurs(pool, config.APP_ID, config.TOPIC_PREFIX)
      return runAudit(config, pool, request, cliLog(env))
    },
    ANSWERING,
  ).finally(listening())
  if (end.kind === 'busy') return undecided('busy', 'Another audit runs. Wait for it: paidonce audit list')
  if (end.kind === 'nothing_to_resume')
    return undecided('nothing_to_resume', 'The last run was not stopped: leave out --resume.')
  if (end.kind === 'other_scope')
    throw new CliFailure(EXIT.usage, end.detail, 'Set it as it was, or leave out --resume: a new run begins.')
  return shown(end.report)
}

/**
 * A container's first process ends by no signal that it does not listen to. What is kept of a run is whole at any moment,
 * so it may end where it is.
 * @returns to be called at the run's end
 */
function listening(): () => void {
  const stop = () => {
    process.stderr.write('Stopped; nothing was decided. Go on with: paidonce audit run --resume\n')
    process.exit(EXIT.undecided)
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, stop)
  return () => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.removeListener(name, stop)
  }
}

const undecided = (result: string, text: string): Output => ({ json: { result }, text, undecided: true })

/** What is to come is not judged, and a run that claimed it would keep the next one from it. */
export function windowOf(since: Date | undefined, until: Date | undefined, nowMs: number) {
  const untilMs = Math.min(until?.getTime() ?? nowMs - SETTLE_MS, nowMs)
  const sinceMs = since?.getTime() ?? untilMs - DAY_MS
  if (sinceMs >= untilMs)
    throw new CliFailure(EXIT.usage, '--since must be before --until.', 'Without --until, that is a minute ago.')
  return { sinceMs, untilMs }
}

function shown({
  run,
  result,
  digest,
  counts,
  events,
  messages,
  orders,
  undecided: not,
  findings,
}: AuditReport): Output {
  const said = { run: run.id, since: isoOf(run.sinceMs), until: isoOf(run.untilMs), result, digest }
  const rows = findings
    .slice(0, ROWS_MAX)
    .map((f) => [
      ...[f.finding, f.in, f.merchant, f.outTradeNo, f.kind, f.topic, f.lane, f.laneSeq, f.offset, f.detail],
    ])
  const head = ['finding', 'in', 'merchant', 'out_trade_no', 'event', 'topic', 'lane', 'lane_seq', 'offset', 'detail']
  const found = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const rest = found > rows.length ? `\n${found - rows.length} more: --output json` : ''
  return {
    json: {
      ...said,
      judged: { events, messages, orders },
      counts,
      undecided: not,
      findings: findings.map((f) => ({
        ...{ finding: f.finding, in: f.in, merchant: f.merchant, out_trade_no: f.outTradeNo, event_id: f.eventId },
        ...{ event: f.kind, topic: f.topic, lane: f.lane, lane_seq: f.laneSeq, offset: f.offset, detail: f.detail },
      })),
    },
    text: [
      listing({ ...said, events, messages, orders, ...counts }),
      ...(rows.length > 0 ? [table(head, rows) + rest] : []),
      ...(not.length > 0
        ? [
            `Not decided:\n${table(
              ['lane', 'reason', 'detail'],
              not.map((u) => [u.lane, u.reason, u.detail]),
            )}`,
          ]
        : []),
    ].join('\n\n'),
    findings: result === 'findings',
    undecided: not.length > 0,
  }
}
