import { startOf } from '../runtime/days.ts'
import type { Queryable } from '../runtime/postgres.ts'
import { listPartitions, PARTITIONED, type PartitionedTable } from './partitions.ts'
import { int } from './statement.ts'

/** Whatever grows with the traffic; partitions are counted with their table. */
export const GROWING = [
  ...PARTITIONED,
  ...(['orders', 'order_payloads', 'facts', 'anomalies', 'commands', 'timers', 'groups'] as const),
  ...(['dead_letters', 'replays', 'replay_runs', 'brakes', 'brake_lanes', 'waiting_events'] as const),
  ...(['tombstones', 'operator_actions', 'imported_events', 'api_tokens'] as const),
  ...(['audit_runs', 'audit_lanes', 'audit_findings'] as const),
  ...(['bill_runs', 'bill_findings', 'bill_seen'] as const),
] as const

export interface PartitionedGrowth {
  readonly count: number
  /** Since the first day of the oldest partition; 0: there is none. */
  readonly oldestSec: number
  /** Until the day comes that has no partition; 0: it has come. */
  readonly aheadSec: number
  readonly restBytes: number
}

export interface Growth {
  /** Indexes and TOAST included. */
  readonly bytes: ReadonlyMap<string, number>
  readonly partitioned: ReadonlyMap<PartitionedTable, PartitionedGrowth>
  /** Since the oldest living order was created; 0: there is none. */
  readonly oldestOrderSec: number
  /** Living orders that are old enough to be archived, finished or not; counted up to 100,000. */
  readonly oldOrders: number
}

const OLD_ORDERS_MAX = 100_000

const BYTES = `
select t.name, coalesce(sum(pg_total_relation_size(p.relid)), 0) as bytes
from unnest($1::text[]) t (name) left join lateral (
  select relid from pg_partition_tree(t.name::regclass) union select t.name::regclass) p on true
group by t.name`

// The first id that is too young is found by halving, as ids are in the order of creation: 2 × log2(n) index probes.
const OLD_ORDERS = `
with recursive ends as (select min(id) as low, max(id) + 1 as high from orders), search as (
  select low, high from ends where low is not null
  union all
  select case when o.created_at < $1 then o.id + 1 else low end, case when o.created_at < $1 then high else middle end
  from (select low, high, (low + high) / 2 as middle from search where low < high) s
  cross join lateral (select id, created_at from orders where id >= middle order by id limit 1) o
), found as (select min(high) as high from search where low >= high)
select coalesce(extract(epoch from $2::timestamptz - (select created_at from orders order by id limit 1)), 0)::float8 as oldest,
  (select count(*) from (select from orders where id < (select high from found) limit ${OLD_ORDERS_MAX}) o) as old`

/** How large and how old what grows is. @param oldBeforeMs created before: old enough for the archive; undefined: never */
export async function readGrowth(db: Queryable, nowMs: number, oldBeforeMs: number | undefined): Promise<Growth> {
  const sizes = await db.query<{ name: string; bytes: string }>(BYTES, [GROWING])
  const oldBefore = new Date(oldBeforeMs ?? 0)
  const orders = await db.query<{ oldest: number; old: string }>(OLD_ORDERS, [oldBefore, new Date(nowMs)])
  const partitioned = new Map<PartitionedTable, PartitionedGrowth>()
  for (const table of PARTITIONED) {
    const { ranges, rest } = await listPartitions(db, table)
    const [first, last] = [ranges[0], ranges.at(-1)]
    partitioned.set(table, {
      count: ranges.length,
      oldestSec: first === undefined ? 0 : Math.max(0, nowMs - startOf(first.from)) / 1_000,
      aheadSec: last === undefined ? 0 : Math.max(0, startOf(last.to) - nowMs) / 1_000,
      restBytes: rest?.bytes ?? 0,
    })
  }
  return {
    bytes: new Map(sizes.rows.map(({ name, bytes }) => [name, int(bytes)])),
    partitioned,
    oldestOrderSec: Math.max(0, orders.rows[0]?.oldest ?? 0),
    oldOrders: int(orders.rows[0]?.old ?? 0),
  }
}
