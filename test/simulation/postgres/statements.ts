import type { Waiting } from './cells.ts'
import * as api from './api-statements.ts'
import * as batch from './batch-statements.ts'
import * as brakes from './brake-statements.ts'
import type { Context, Rows } from './database.ts'
import * as lanes from './lane-statements.ts'
import { list, num, text } from './params.ts'
import * as work from './work-statements.ts'
import { writeBatch } from './write-batch.ts'

export type Run = (context: Context, values: readonly unknown[]) => Rows | Waiting<Rows>

/** Those that are read from their own text. */
const READ_FROM_TEXT: Readonly<Record<string, (sql: string) => Run>> = {
  'lock-orders': batch.lockOrders,
  'read-views': batch.readViews,
  'keep-dead-letters': batch.keepDeadLetters,
  'write-batch': writeBatch,
  'keep-waiting': work.keepWaiting,
}
const NAMED: Readonly<Record<string, Run>> = {
  'find-facts': batch.findFacts,
  'read-behind': work.readBehind,
  'read-released': work.readReleased,
  'spend-waiting': work.spendWaiting,
  'read-work': work.readWork,
  'open-queries': work.openQueries,
  'still-waiting': work.stillWaiting,
  'read-events': work.readEvents,
  'read-payloads': work.readPayloads,
  'read-brakes': work.readBrakes,
  'insert-orders': api.insertOrders,
  'find-terms': api.findTerms,
  'complete-stubs': api.completeStubs,
  'file-command': api.fileCommand,
  'find-command-by-key': api.findCommandByKey,
  'find-archived': () => ({ rows: [] }),
}

const nothing: Run = () => ({ rows: [] })
/** Those without a name, by how they begin; of two that begin alike, the first that fits. */
const BY_TEXT: readonly (readonly [RegExp, Run])[] = [
  [/^select set_config\(name, setting, false\)/, setAll],
  [/^select set_config\('application_name', \$1, false\), set_config\('lock_timeout', \$2, false\)$/, setNameAndLock],
  [/^select set_config\('lock_timeout', \$1, false\)$/, setLock],
  [/^discard plans$/, nothing],
  [/^select pg_terminate_backend\(pid, \d+\) as ended from pg_stat_activity/, endBackends],
  [/^insert into lanes /, lanes.countFence],
  [/^update lanes set halted_reason = \$3/, lanes.haltLane],
  [/^update lanes set halted_reason = null/, lanes.resumeLane],
  [/^select halted_reason from lanes .* for no key update$/, lanes.lockLane],
  [/^update lanes set settled_seq = \$3/, lanes.settleLane],
  [/^update lanes set is_owned = false/, lanes.letGo],
  [/^update lanes set is_owned = is_owned and fences > \$3/, lanes.outlive],
  [/^update lanes set suspect_deaths = case/, lanes.markAlone],
  [/^update lanes set suspect_deaths = greatest/, lanes.unmarkAlone],
  [/^select topic, lane, start_offset, .* from lanes where topic = \$1 and lane = \$2$/, lanes.readLane],
  [/^select pg_notify\(\$1, payload\) from unnest/, notify],
  [/^insert into operator_actions \(actor, action, target, reason\) values \(/, api.noteAction],
  [/^select count\(\*\)::int as n from brakes/, brakes.countBrakes],
  [/^insert into brakes /, brakes.insertBrake],
  [/^select id from brakes where released_at is null/, brakes.findBrake],
  [/^select released_at is not null as is_released/, brakes.lockBrake],
  [/^update brakes set released_at = now\(\)/, brakes.setReleased],
  [/^update brakes set told_at = now\(\)/, brakes.setTold],
  [/^update brakes set release_told_at = now\(\)/, brakes.setReleaseTold],
  [/^update brakes b set done_at = now\(\)/, brakes.closeBrakes],
  [
    /^select coalesce\(sum\(c\.n\), 0\) as n, min\(o\.created_at\) as oldest from \(select distinct lane/,
    brakes.countWaiting,
  ],
  [/^with l as \( update lanes set brake_version .*is_released/, brakes.tellReleased],
  [/^with l as \( update lanes set brake_version /, brakes.tellSet],
  [/^select l\.lane from lanes l where l\.topic = \$1 and not exists/, brakes.untold],
  [/^select lane, stop_seq from brake_lanes/, brakes.readStops],
  [/^select id, told_at is null and released_at is null as set_untold/, brakes.openBrakes],
]

function setAll({ session }: Context, values: readonly unknown[]): Rows {
  const [names, settings] = [list<string>(values[0]), list<string>(values[1])]
  const lock = settings[names.indexOf('lock_timeout')]
  if (lock !== undefined) session.lockTimeoutMs = durationMs(lock)
  return { rows: [] }
}
function setNameAndLock({ session }: Context, values: readonly unknown[]): Rows {
  session.applicationName = text(values[0])
  session.lockTimeoutMs = durationMs(text(values[1]))
  return { rows: [] }
}
function setLock({ session }: Context, values: readonly unknown[]): Rows {
  session.lockTimeoutMs = durationMs(text(values[0]))
  return { rows: [] }
}
const setLocalLock =
  (timeoutMs: number): Run =>
  ({ session }) => {
    session.localLockTimeoutMs = timeoutMs
    return { rows: [] }
  }
function durationMs(setting: string): number {
  const [, amount, unit] = /^(\d+)(ms|s)$/.exec(setting) ?? []
  if (amount === undefined) throw new Error(`no duration: ${setting}`)
  return Number(amount) * (unit === 's' ? 1_000 : 1)
}

function endBackends({ tables, tx, terminate }: Context, values: readonly unknown[]): Rows {
  const [prefix, topic, lane, given] = [text(values[0]), text(values[1]), num(values[2]), values[3] as number | null]
  const row = [...tables.lanes.cells.values()].find(({ key }) => key === `${topic}/${lane}`)
  const fences = (row?.owner === tx ? row.pending : row?.committed)?.fences
  const below = given ?? (fences === undefined ? undefined : fences + 1)
  const ended = terminate((name) => {
    const number = name.startsWith(prefix) ? name.slice(prefix.length) : ''
    return below !== undefined && /^\d{1,15}$/.test(number) && Number(number) < below
  })
  return { rows: Array.from({ length: ended }, () => ({ ended: true })) }
}

function notify({ tx }: Context, values: readonly unknown[]): Rows {
  for (const payload of list<string>(values[1])) tx.notifications.push({ channel: text(values[0]), payload })
  return { rows: [] }
}

const known = new Map<string, Run>()

/** @throws a statement that is not simulated: a model that guessed would prove nothing */
export function statementOf({ name, text: sql }: { readonly name?: string | undefined; readonly text: string }): Run {
  const cached = known.get(name ?? sql)
  if (cached !== undefined) return cached
  const run = name === undefined ? byText(sql) : (READ_FROM_TEXT[name]?.(sql) ?? NAMED[name])
  if (run === undefined) throw new Error(`the simulated Postgres has no statement ${name ?? sql}`)
  known.set(name ?? sql, run)
  return run
}

function byText(sql: string): Run | undefined {
  const flat = sql.replaceAll(/\s+/g, ' ').trim()
  const [, localMs] = /^set local lock_timeout = (\d+)$/.exec(flat) ?? []
  if (localMs !== undefined) return setLocalLock(Number(localMs))
  return BY_TEXT.find(([pattern]) => pattern.test(flat))?.[1]
}
