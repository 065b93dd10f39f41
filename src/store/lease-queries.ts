import type { Status } from '../orders/model.ts'
import type { Queryable } from '../runtime/postgres.ts'
import { int4s, texts, timestamps } from './bind.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

/** A question that nobody else asks before its lease ends. */
export interface LeasedQuery {
  readonly id: number
  readonly merchant: string
  readonly ref: string
  /** How often it was asked. */
  readonly attempts: number
  readonly isDone: boolean
  readonly refreshedAtMs: number | null
  /** Which lease it is. */
  readonly leasedUntilMs: number
  /** Undefined: the order is gone. */
  readonly order: QueriedOrder | undefined
}

export interface QueriedOrder {
  readonly id: number
  readonly outTradeNo: string
  readonly status: Status
  readonly heldCount: number
  readonly createdAtMs: number
  readonly expiresAtMs: number | null
}

// The lease moves `due_at` too: it is due again by itself when the lease ends, and whoever wants it at once meanwhile (a
// hint, a refresh) makes it earlier, which is seen when it is settled. It takes the wish with it: one that comes while it
// lasts is another. Leases are short, and their rows read under lock.
const NOW = '($3::timestamptz[])[1]'
const UNTIL = '($3::timestamptz[])[2]'
const IS_FREE = `t.kind = 'query' and (t.leased_until is null or t.leased_until <= ${NOW})`
// Whose clock the wish was written by does not matter.
const IS_DUE = `(t.wished_at is not null or t.due_at <= ${NOW})`
const LEASE = {
  name: 'lease-queries',
  text: `
with due as materialized (
  select q.id from unnest($1::text[], $2::int4[]) as room (merchant, rows) cross join lateral (
    select id from (
      (select t.id, t.wished_at as since, $4::int2 as turn from timers t where t.merchant = room.merchant and ${IS_FREE}
        and t.wished_at is not null order by t.wished_at limit room.rows)
      union all
      (select t.id, t.due_at, 1 from timers t where t.merchant = room.merchant and ${IS_FREE}
        and t.wished_at is null and t.due_at <= ${NOW} order by t.due_at limit room.rows)) either
    order by turn, since limit room.rows) q
), locked as materialized (
  select t.id from timers t where t.id in (select id from due) and ${IS_FREE} and ${IS_DUE} for update skip locked
), leased as (
  update timers t set leased_until = ${UNTIL}, due_at = ${UNTIL}, wished_at = null from locked where t.id = locked.id
  returning t.id, t.merchant, t.ref, t.attempts, t.done_at, t.refreshed_at, t.leased_until, t.order_id
)
select l.id, l.merchant, l.ref, l.attempts, l.done_at is not null, ${ms('l.refreshed_at')}, ${ms('l.leased_until')},
  o.id, o.out_trade_no, o.status::text, o.held_count, ${ms('o.created_at')}, ${ms('o.expires_at')}
from leased l left join orders o on o.id = l.order_id`,
}
type Row = [
  ...[id: unknown, merchant: string, ref: string, attempts: number, isDone: boolean, refreshedAt: unknown],
  ...[leasedUntil: unknown, orderId: unknown, outTradeNo: string, status: Status, heldCount: number],
  ...[createdAt: unknown, expiresAt: unknown],
]

/**
 * Takes what is due, in one short statement: no lock is held while a provider is asked.
 * @param rooms how many of each merchant
 * @param how `leaseMs`: longer than asking and publishing can take. `isWishesTurn`: what somebody wants to know comes first,
 *   else what was due otherwise: in turns, so that neither waits behind all of the other
 */
export async function leaseQueries(
  db: Queryable,
  rooms: ReadonlyMap<string, number>,
  {
    nowMs,
    leaseMs,
    isWishesTurn,
  }: { readonly nowMs: number; readonly leaseMs: number; readonly isWishesTurn: boolean },
): Promise<LeasedQuery[]> {
  const values = [
    texts([...rooms.keys()]),
    int4s([...rooms.values()]),
    timestamps([nowMs, nowMs + leaseMs]),
    isWishesTurn ? 0 : 2,
  ]
  const rows = await rowsOf<Row>(db, LEASE, values)
  return rows.map(([id, merchant, ref, attempts, isDone, refreshedAt, leasedUntil, orderId, ...order]) => ({
    ...{ id: int(id), merchant, ref, attempts, isDone },
    ...{ refreshedAtMs: intOrNull(refreshedAt), leasedUntilMs: int(leasedUntil) },
    order: orderId === null ? undefined : { id: int(orderId), ...orderOf(order) },
  }))
}

const orderOf = ([outTradeNo, status, heldCount, createdAt, expiresAt]: [
  ...[outTradeNo: string, status: Status, heldCount: number, createdAt: unknown, expiresAt: unknown],
]) => ({ outTradeNo, status, heldCount, createdAtMs: int(createdAt), expiresAtMs: intOrNull(expiresAt) })
