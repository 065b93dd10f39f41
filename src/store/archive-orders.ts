import type pg from 'pg'
import { transactionOn, type Transaction } from '../runtime/postgres.ts'
import { int8s } from './bind.ts'
import { PAYMENT_REF } from './file-queries.ts'
import { fingerprintSql } from './fingerprint.ts'
import { freeGroups, lockGroups } from './free-groups.ts'
import { int, rowsOf } from './statement.ts'

/** Why an order that has long been still is kept. */
export const KEPT_REASONS = [
  'pending',
  'held_fact',
  'open_anomaly',
  'waiting_event',
  'unsettled_event',
  'pending_command',
  'recent_command',
  'timer',
] as const
export type KeptReason = (typeof KEPT_REASONS)[number]

/** Where archiving can be cut; tests kill the process there. */
export const ARCHIVE_POINTS = [
  'archive_after_lock',
  'archive_before_commit', // moved, not committed
  'archive_after_commit',
] as const
export type ArchivePoint = (typeof ARCHIVE_POINTS)[number]
export type ReachArchive = (point: ArchivePoint) => void | Promise<void>

/** One transaction: a few milliseconds, as a lane may wait for one of these orders. */
export const ORDERS_PER_STEP = 200
const SCAN_ROWS = 1_000

export interface Scanned {
  /** Still since the cutoff: to be looked at. */
  readonly ids: readonly number[]
  /** The last id that was read; undefined: all that are old enough have been. */
  readonly last: number | undefined
}

// By the key: ids are in the order of creation, so that the old ones lie side by side and no index on a time is needed.
const SCAN = {
  name: 'scan-old-orders',
  text: `select id, updated_at < $2, created_at < $2 from orders where id > $1 order by id limit ${SCAN_ROWS}`,
}

/** The next orders, oldest first, without any lock. @param unchangedSince ISO 8601 */
export async function scanOldOrders(client: pg.ClientBase, afterId: number, unchangedSince: string): Promise<Scanned> {
  type Row = [id: unknown, isStill: boolean, isOld: boolean]
  const rows = await rowsOf<Row>(client, SCAN, [afterId, unchangedSince])
  const young = rows.findIndex(([, , isOld]) => !isOld)
  const old = young < 0 ? rows : rows.slice(0, young)
  return {
    ids: old.filter(([, isStill]) => isStill).map(([id]) => int(id)),
    last: young >= 0 || rows.length < SCAN_ROWS ? undefined : int(rows.at(-1)?.[0]),
  }
}

const LOCK = {
  name: 'lock-old-orders',
  text: `select o.id from unnest($1::int8[]) as i (id) join orders o on o.id = i.id where o.updated_at < $2
    order by o.merchant, o.out_trade_no for update of o skip locked`,
}

// Everything here is written under the order's lock, or (a command) under its key share. A command that changed nothing
// leaves the order as old as it was, but whoever sent it may send it again and must get its answer. Commands are read
// once for all of a step's orders: wakes, in no index by order, by one pass over those that wait.
// A question about its payment is nothing that a finished order waits for: it may lie there as nobody asks.
const IS_IDLE_QUERY = `t.kind = 'query' and t.ref = '${PAYMENT_REF}'`
const JUDGE = {
  name: 'judge-old-orders',
  text: `
select o.id, case
    when o.status = 'pending' then 'pending'
    when o.held_count > 0 or exists (select from facts f where f.order_id = o.id and f.outcome = 'held') then 'held_fact'
    when exists (select from anomalies a where a.order_id = o.id and a.resolved_at is null) then 'open_anomaly'
    when o.waiting_count > 0 then 'waiting_event'
    when c.is_pending or w.order_id is not null then 'pending_command'
    when c.is_recent then 'recent_command'
    when exists (select from timers t where t.order_id = o.id and not (${IS_IDLE_QUERY})) then 'timer'
    when e.order_id is not null then 'unsettled_event'
  end
from orders o left join (
  select distinct e.order_id from events e left join lanes l on l.topic = $2 and l.lane = e.lane
  where e.order_id = any($1::int8[]) and e.lane_seq >= coalesce(l.settled_seq, 0)
) e on e.order_id = o.id left join (
  select c.order_id, bool_or(c.status = 'pending') as is_pending, bool_or(c.created_at >= $3) as is_recent
  from commands c where c.order_id = any($1::int8[]) and c.kind <> 'wake' group by c.order_id
) c on c.order_id = o.id left join (
  select distinct c.order_id from commands c where c.order_id = any($1::int8[]) and c.kind = 'wake' and c.status = 'pending'
) w on w.order_id = o.id
where o.id = any($1::int8[])`,
}

/** Which of these may go, and why the others stay. The truth only under their locks. */
export async function judgeOldOrders(
  db: pg.ClientBase | Transaction,
  ids: readonly number[],
  { inputTopic, unchangedSince }: Pick<ArchiveStep, 'inputTopic' | 'unchangedSince'>,
): Promise<{ readonly finished: readonly number[]; readonly kept: readonly KeptReason[] }> {
  const rows = await rowsOf<[id: unknown, reason: KeptReason | null]>(db, JUDGE, [
    int8s(ids),
    inputTopic,
    unchangedSince,
  ])
  return {
    finished: rows.flatMap(([id, reason]) => (reason === null ? [int(id)] : [])),
    kept: rows.flatMap(([, reason]) => reason ?? []),
  }
}

const JSON_OF = (rows: string, sorting: string) => `jsonb_agg(to_jsonb(${rows}) order by ${sorting})`
const MOVE = {
  name: 'archive-orders',
  text: `
with o as (delete from orders where id = any($1::int8[]) returning *),
p as (delete from order_payloads where order_id = any($1::int8[]) returning *),
f as (delete from facts where order_id = any($1::int8[]) returning *),
a as (delete from anomalies where order_id = any($1::int8[]) returning *),
c as (delete from commands where order_id = any($1::int8[]) and kind <> 'wake' returning *),
t as (delete from timers t where order_id = any($1::int8[]) and ${IS_IDLE_QUERY}),
fs as (select order_id, ${JSON_OF('f', 'f.recorded_at, f.kafka_offset')} as rows,
  string_agg(${fingerprintSql('f')}, ''::bytea) as prints from f group by order_id),
as_ as (select order_id, ${JSON_OF('a', 'a.id')} as rows from a group by order_id),
cs as (select order_id, ${JSON_OF('c', 'c.id')} as rows from c group by order_id),
tombstone as (
  insert into tombstones (merchant, out_trade_no, status, archived_at, order_id, month, facts)
  select o.merchant, o.out_trade_no, o.status, $2, o.id, $3, coalesce(fs.prints, '') from o left join fs on fs.order_id = o.id)
insert into archived_orders (month, order_id, archived_at, changed_at, document)
select $3, o.id, $2, o.updated_at, jsonb_build_object('order', to_jsonb(o), 'payload', p.payload,
  'facts', coalesce(fs.rows, '[]'), 'anomalies', coalesce(as_.rows, '[]'), 'commands', coalesce(cs.rows, '[]'))
from o left join p on p.order_id = o.id left join fs on fs.order_id = o.id left join as_ on as_.order_id = o.id
  left join cs on cs.order_id = o.id`,
}

export interface ArchiveStep {
  readonly ids: readonly number[]
  /** ISO 8601 */
  readonly unchangedSince: string
  readonly now: string
  /** Whose partition is there. */
  readonly month: string
  readonly inputTopic: string
}

/**
 * Moves those of up to 200 orders that are finished, in one transaction, and the groups that have no other order. It
 * waits for nobody: an order that a lane has locked, or whose group somebody holds, is not still, and is passed over.
 */
export async function archiveOrders(
  client: pg.ClientBase,
  { ids, unchangedSince, now, month, inputTopic }: ArchiveStep,
  reach: ReachArchive,
): Promise<{ readonly archived: number; readonly kept: readonly KeptReason[] }> {
  const done = await transactionOn(client, async (tx) => {
    const locked = (await rowsOf<[id: unknown]>(tx, LOCK, [int8s(ids), unchangedSince])).map(([id]) => int(id))
    await reach('archive_after_lock')
    const { finished, kept } = await judgeOldOrders(tx, locked, { inputTopic, unchangedSince })
    const groups = await lockGroups(tx, finished)
    const free = finished.filter((id) => !groups.busy.has(id))
    if (free.length > 0) await tx.query({ ...MOVE, values: [int8s(free), now, month] })
    await freeGroups(tx, groups)
    await reach('archive_before_commit')
    return { archived: free.length, kept }
  })
  await reach('archive_after_commit')
  return done
}
