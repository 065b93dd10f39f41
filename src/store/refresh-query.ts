import type { Queryable } from '../runtime/postgres.ts'
import { int8s } from './bind.ts'
import { PAYMENT_REF } from './file-queries.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

// What is being asked at this moment becomes due again: its answer may be older than the wish to know. What is wished
// does not wait behind whatever else is due (`lease-queries.ts`).
const REFRESH = {
  name: 'refresh-query',
  text: `
insert into timers (lane, order_id, kind, ref, merchant, due_at, refreshed_at, wished_at)
select o.lane, o.id, 'query', '${PAYMENT_REF}', o.merchant, $2, $2, $2::timestamptz from orders o
where o.id = $1 and (o.status in ('awaited', 'pending') or o.held_count > 0)
on conflict (order_id, kind, ref) do update
  set due_at = least(timers.due_at, excluded.due_at), refreshed_at = excluded.refreshed_at, done_at = null,
    wished_at = coalesce(timers.wished_at, excluded.wished_at)
  where timers.refreshed_at is null or timers.refreshed_at <= $3::timestamptz
returning ${ms('asked_at')}`,
}

/**
 * Makes a question about an order's payment due now, unless somebody wanted to know a moment ago.
 * @param everyMs how often an order may be asked about in this way
 * @returns when it was asked before, null: never. Undefined: it is not due; nothing of the order is open, or it was due
 *   in this way a moment ago
 */
export async function refreshQuery(
  db: Queryable,
  orderId: number,
  { nowMs, everyMs }: { readonly nowMs: number; readonly everyMs: number },
): Promise<{ readonly askedAtMs: number | null } | undefined> {
  const values = [orderId, new Date(nowMs), new Date(nowMs - everyMs)]
  const [row] = await rowsOf<[askedAt: unknown]>(db, REFRESH, values)
  return row && { askedAtMs: intOrNull(row[0]) }
}

/** What has become of a question. */
export interface AskedOrder {
  /** The order's. */
  readonly id: number
  /** Of the order: it grows with each change. */
  readonly version: number
  /** When its providers were asked last; null: never, or the question is gone. */
  readonly askedAtMs: number | null
  /** What they said then. */
  readonly answer: string | null
  /** Somebody wants to know, and has no answer to what was asked since: it waits, or is being asked. */
  readonly isWished: boolean
}

const READ_ASKED = {
  name: 'read-asked',
  text: `select o.id, o.version, ${ms('t.asked_at')}, t.answer,
      coalesce(t.leased_until is not null or t.wished_at is not null, false) from orders o
    left join timers t on t.order_id = o.id and t.kind = 'query' and t.ref = '${PAYMENT_REF}'
    where o.id = any($1::int8[])`,
}

export async function readAsked(db: Queryable, orderIds: readonly number[]): Promise<AskedOrder[]> {
  type Row = [id: unknown, version: number, askedAt: unknown, answer: string | null, isWished: boolean]
  const rows = await rowsOf<Row>(db, READ_ASKED, [int8s(orderIds)])
  return rows.map(([id, version, askedAt, answer, isWished]) => ({
    ...{ id: int(id), version, answer, isWished },
    askedAtMs: intOrNull(askedAt),
  }))
}
