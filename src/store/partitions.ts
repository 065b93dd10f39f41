import type { Queryable } from '../runtime/postgres.ts'
import { int } from './statement.ts'

/** What grows, and by what it is cut. */
export const PARTITIONED = ['deliveries', 'events', 'archived_orders'] as const
export type PartitionedTable = (typeof PARTITIONED)[number]

/** One day (or month) of a table. */
export interface Partition {
  readonly name: string
  /** Its first day, and the first one after it: `2026-11-30`. */
  readonly from: string
  readonly to: string
  readonly bytes: number
}

export interface Partitions {
  /** By day. */
  readonly ranges: readonly Partition[]
  /** Where rows go whose day has no partition. */
  readonly rest: { readonly name: string; readonly bytes: number } | undefined
}

const LIST = `
select c.relname as name, pg_total_relation_size(c.oid) as bytes,
  regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \\(''([0-9-]+)''\\) TO \\(''([0-9-]+)''\\)') as bounds
from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = $1::regclass order by bounds, name`

/** From the catalogue: bounds and bytes, indexes included. */
export async function listPartitions(db: Queryable, table: PartitionedTable): Promise<Partitions> {
  const { rows } = await db.query<{ name: string; bytes: string; bounds: [string, string] | null }>(LIST, [table])
  const all = rows.map(({ name, bytes, bounds }) => ({ name, bytes: int(bytes), bounds }))
  const rest = all.find(({ bounds }) => bounds === null)
  return {
    ranges: all.flatMap(({ name, bytes, bounds }) =>
      bounds === null ? [] : { name, bytes, from: bounds[0], to: bounds[1] },
    ),
    rest: rest && { name: rest.name, bytes: rest.bytes },
  }
}

/** `events_20261130`; of a month `archived_orders_202611`. */
export const partitionName = (table: PartitionedTable, from: string) =>
  `${table}_${from.replaceAll('-', '').slice(0, table === 'archived_orders' ? 6 : 8)}`
