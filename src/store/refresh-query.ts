import type { Queryable } from '../runtime/postgres.ts'
import { PAYMENT_REF } from './file-queries.ts'
import { int, ms, rowsOf } from './statement.ts'

// What is being asked at this moment becomes due again: its answer may be older than the wish to know.
const REFRESH = {
  name: 'refresh-query',
  text: `
insert into timers (lane, order_id, kind, ref, merchant, due_at, refreshed_at)
select o.lane, o.id, 'query', '${PAYMENT_REF}', o.merchant, $2::timestamptz, $2::timestamptz from orders o
where o.id = $1 and (o.status in ('awaited', 'pending') or o.held_count > 0)
on conflict (order_id, kind, ref) do update
  set due_at = least(timers.due_at, excluded.due_at), refreshed_at = excluded.refreshed_at, done_at = null
  where timers.refreshed_at is null or timers.refreshed_at <= $3::timestamptz
returning order_id`,
}

/**
 * Makes a question about an order's payment due now, unless somebody wanted to know a moment ago.
 * @param everyMs how often an order may be asked about in this way
 * @returns whether it is; not where nothing of the order is open either
 */
export async function refreshQuery(
  db: Queryable,
  orderId: number,
  { nowMs, everyMs }: { readonly nowMs: number; readonly everyMs: number },
): Promise<boolean> {
  const { rowCount } = await db.query({
    ...REFRESH,
    values: [orderId, new Date(nowMs), new Date(nowMs - everyMs)],
  })
  return (rowCount ?? 0) > 0
}

/** What has become of a question. */
export interface AskedOrder {
  readonly orderId: number
  /** Of the order: it grows with each change. */
  readonly version: number
  /** When its providers were asked last; null: never, or the question is gone. */
  readonly askedAtMs: number | null
}

const READ_ASKED = {
  name: 'read-asked',
  text: `select o.id, o.version, ${ms('t.asked_at')} from orders o
    left join timers t on t.order_id = o.id and t.kind = 'query' and t.ref = '${PAYMENT_REF}'
    where o.id = any($1::int8[])`,
}

export async function readAsked(db: Queryable, orderIds: readonly number[]): Promise<AskedOrder[]> {
  type Row = [id: unknown, version: number, askedAt: unknown]
  const rows = await rowsOf<Row>(db, READ_ASKED, [orderIds])
  return rows.map(([id, version, askedAt]) => ({
    ...{ orderId: int(id), version },
    askedAtMs: askedAt === null ? null : int(askedAt),
  }))
}
