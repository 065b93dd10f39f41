import type { Queryable, Transaction } from '../runtime/postgres.ts'
import {
  ANOMALIES_SORTED,
  AUDIT_ANOMALY,
  AUDIT_FACT,
  AUDIT_ORDER,
  FACTS_SORTED,
  PAGE_ROWS,
  type AnomalyRow,
  type FactRow,
  type OrderRow,
} from './audit-rows.ts'
import { int8s } from './bind.ts'
import { rowsOf } from './statement.ts'

// An order is archived after its last change, by a clock that may be behind Postgres' by an hour.
const MONTHS = (since: string) =>
  `date_trunc('month', ${since}::timestamptz at time zone 'UTC' - interval '1 day')::date`
const CHANGED = 'coalesce(a.changed_at, a.archived_at)'

const ANY = {
  name: 'audit-any-archived',
  text: `select exists (select from archived_orders a where a.month >= ${MONTHS('$1')} and ${CHANGED} >= $1)`,
}
const PAGE = {
  name: 'audit-archived',
  text: `select ${AUDIT_ORDER} from archived_orders a
    cross join lateral jsonb_populate_record(null::orders, a.document -> 'order') o
    where a.order_id > ($1::int8[])[1] and a.order_id <= ($1::int8[])[2] and a.month >= ${MONTHS('$2')}
      and ${CHANGED} >= $2 and o.updated_at >= $2 and o.created_at < $3 order by a.order_id limit ${PAGE_ROWS}`,
}
const FACTS = {
  name: 'audit-archived-facts',
  text: `select ${AUDIT_FACT} from archived_orders d
    cross join lateral jsonb_populate_recordset(null::facts, d.document -> 'facts') f
    where d.order_id = any($1::int8[]) and d.month >= ${MONTHS('$2')} ${FACTS_SORTED}`,
}
const ANOMALIES = {
  name: 'audit-archived-anomalies',
  text: `select ${AUDIT_ANOMALY} from archived_orders d
    cross join lateral jsonb_populate_recordset(null::anomalies, d.document -> 'anomalies') a
    where d.order_id = any($1::int8[]) and d.month >= ${MONTHS('$2')} ${ANOMALIES_SORTED}`,
}

export interface ArchivedRange {
  readonly afterId: number
  readonly upToId: number
  readonly sinceMs: number
  readonly untilMs: number
}

/**
 * The archived orders of a range of ids that changed in a window, a page at most. Mostly there are none, as orders are
 * archived long after their last change: the index says so, and the archive is not gone through.
 * @param tx the one that the living orders are read in: an order is in one of both places
 */
export async function readArchivedOrders(
  tx: Transaction,
  { afterId, upToId, sinceMs, untilMs }: ArchivedRange,
): Promise<OrderRow[]> {
  const [any] = await rowsOf<[any: boolean]>(tx, ANY, [new Date(sinceMs)])
  if (any?.[0] !== true) return []
  return rowsOf<OrderRow>(tx, PAGE, [int8s([afterId, upToId]), new Date(sinceMs), new Date(untilMs)])
}

export const readArchivedFacts = (tx: Transaction, ids: readonly number[], sinceMs: number): Promise<FactRow[]> =>
  ids.length === 0 ? Promise.resolve([]) : rowsOf<FactRow>(tx, FACTS, [int8s(ids), new Date(sinceMs)])

export const readArchivedAnomalies = (
  tx: Transaction,
  ids: readonly number[],
  sinceMs: number,
): Promise<AnomalyRow[]> =>
  ids.length === 0 ? Promise.resolve([]) : rowsOf<AnomalyRow>(tx, ANOMALIES, [int8s(ids), new Date(sinceMs)])

const DROPPED = {
  name: 'audit-dropped-months',
  text: `select to_char(m.month, 'YYYY-MM') from (
      select m::date as month from generate_series(${MONTHS('$1')}::timestamp, now() at time zone 'UTC', '1 month') m
    ) m where not exists (select from archived_orders a where a.month = m.month)
      and exists (select from tombstones t where t.month = m.month and t.archived_at >= $1) order by 1`,
}
/** The months whose archive was taken away, and that had orders which may have changed at a time or later: `2026-11`. */
export async function droppedMonths(db: Queryable, sinceMs: number): Promise<string[]> {
  return (await rowsOf<[month: string]>(db, DROPPED, [new Date(sinceMs)])).map(([month]) => month)
}
