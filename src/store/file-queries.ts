import type { Queryable } from '../runtime/postgres.ts'
import { int2s, int8s, texts, timestamps } from './bind.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

/** The `ref` of a query about an order's payment; any other names a refund, as a hint does. */
export const PAYMENT_REF = 'payment'

/** An order that may have to be asked about. */
export interface Unasked {
  readonly lane: number
  readonly orderId: number
  readonly merchant: string
  readonly createdAtMs: number
  /** Null: nobody has created it, its facts are held. */
  readonly expiresAtMs: number | null
}
type Row = [lane: number, orderId: unknown, merchant: string, createdAt: unknown, expiresAt: unknown]

const SCAN_ROWS = 2_000

// A question of an order that was only awaited, or that ended with an earlier expiry's, is done: now there is more to ask.
const IS_ASKED = 'q.order_id is not null and (q.done_at is null or q.done_at >= o.expires_at)'

// An order has its expiry timer for as long as it is pending, and no longer, and their ids are in the order of creation:
// the sweep needs no index of its own, and an order that is paid in time costs it nothing, as its timer is gone.
const SCAN_PENDING = {
  name: 'scan-pending',
  text: `
select t.id, o.created_at > ($2::timestamptz[])[1], ${IS_ASKED} or o.id is null or o.merchant <> all($3::text[]),
  t.lane, t.order_id, o.merchant, ${ms('o.created_at')}, ${ms('o.expires_at')}
from (select id, lane, order_id, kind from timers where id > ($1::int8[])[1] order by id limit ${SCAN_ROWS}) t
left join orders o on o.id = t.order_id and t.kind = 'expiry'
left join timers q on q.order_id = o.id and q.kind = 'query' and q.ref = '${PAYMENT_REF}'
order by t.id`,
}

export interface Scanned {
  readonly found: readonly Unasked[]
  /** Where the next scan goes on. */
  readonly last: number
  /** All that are old enough have been looked at. */
  readonly isEnd: boolean
}

/**
 * The next pending orders about which nobody asks yet, oldest first, without any lock.
 * @param youngestMs what was created later is left for a later sweep: most of it will be paid by then
 */
export async function scanPending(
  db: Queryable,
  { after, youngestMs, merchants }: { after: number; youngestMs: number; merchants: readonly string[] },
): Promise<Scanned> {
  const values = [int8s([after]), timestamps([youngestMs]), texts(merchants)]
  const rows = await rowsOf<[id: unknown, isYoung: boolean | null, isOut: boolean, ...Row]>(db, SCAN_PENDING, values)
  const young = rows.findIndex(([, isYoung]) => isYoung === true)
  const old = young < 0 ? rows : rows.slice(0, young)
  return {
    found: old.flatMap(([, , isOut, ...row]) => (isOut ? [] : [unaskedOf(row)])),
    last: int(old.at(-1)?.[0] ?? after),
    isEnd: young >= 0 || rows.length < SCAN_ROWS,
  }
}

// Lane by lane, as the index begins with the lane. An order may hold several facts (a payment and its refund), and is
// asked about once; they are made one after the limit, so that no more rows than that are read.
const SCAN_HELD = {
  name: 'scan-held',
  text: `
select distinct on (h.order_id) h.lane, h.order_id, h.merchant, ${ms('h.created_at')}, ${ms('h.expires_at')}
from (select distinct lane from lanes) l cross join lateral (
  select t.lane, t.order_id, o.merchant, o.created_at, o.expires_at from timers t join orders o on o.id = t.order_id
  where t.lane = l.lane and t.kind = 'held_limit' and t.due_at <= ($1::timestamptz[])[1] and o.merchant = any($2::text[])
    and not exists (select from timers q where q.order_id = t.order_id and q.kind = 'query' and q.ref = '${PAYMENT_REF}'
      and (q.done_at is null or q.done_at >= t.due_at - (($1::timestamptz[])[1] - ($1::timestamptz[])[2])))
  order by t.due_at limit 200) h`,
}

/** Orders with a fact whose limit comes before a time, and about which nobody has asked since it was as near as that. */
export async function scanHeld(
  db: Queryable,
  { nowMs, beforeMs, merchants }: { nowMs: number; beforeMs: number; merchants: readonly string[] },
): Promise<Unasked[]> {
  return (await rowsOf<Row>(db, SCAN_HELD, [timestamps([beforeMs, nowMs]), texts(merchants)])).map(unaskedOf)
}

const unaskedOf = ([lane, orderId, merchant, createdAt, expiresAt]: Row): Unasked => ({
  ...{ lane, merchant },
  ...{ orderId: int(orderId), createdAtMs: int(createdAt), expiresAtMs: intOrNull(expiresAt) },
})

// Whoever comes second changes nothing: several reconcilers may sweep at once. What is done begins anew.
const FILE = {
  name: 'file-queries',
  text: `
insert into timers (lane, order_id, kind, ref, merchant, due_at)
select lane, order_id, 'query', '${PAYMENT_REF}', merchant, due_at
from unnest($1::int2[], $2::int8[], $3::text[], $4::timestamptz[]) as t (lane, order_id, merchant, due_at)
order by order_id
on conflict (order_id, kind, ref) do update set due_at = excluded.due_at, attempts = 0, done_at = null
  where timers.done_at is not null and timers.leased_until is null`,
}

/** @returns how many were new */
export async function fileQueries(
  db: Queryable,
  queries: readonly (Unasked & { readonly dueAtMs: number })[],
): Promise<number> {
  const { rowCount } = await db.query({
    ...FILE,
    values: [
      int2s(queries.map(({ lane }) => lane)),
      int8s(queries.map(({ orderId }) => orderId)),
      texts(queries.map(({ merchant }) => merchant)),
      timestamps(queries.map(({ dueAtMs }) => dueAtMs)),
    ],
  })
  return rowCount ?? 0
}

// A hint's is filed by its lane, which has no place for the merchant on its way.
const ADOPT = {
  name: 'adopt-queries',
  text: `update timers t set merchant = o.merchant from orders o
    where t.id in (select id from timers where kind = 'query' and merchant is null limit 1000) and o.id = t.order_id`,
}

/** Notes whose credentials ask, where a lane has filed the question. */
export async function adoptQueries(db: Queryable): Promise<number> {
  return (await db.query(ADOPT)).rowCount ?? 0
}
