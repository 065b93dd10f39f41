import type { OrderBody } from '../orders/order-body.ts'
import { bodyHash } from '../orders/order-body.ts'
import type { Transaction } from '../runtime/postgres.ts'
import { byteas, int2s, int8s, texts, timestamps } from './bind.ts'
import { int, rowsOf } from './statement.ts'

// Sorted, so that two requests with the same new orders wait for each other in one order and never in a circle. A group
// gets its row here, as lanes lock it: two of them that paid an order each could not see one another otherwise. One that
// is there is held until this order can be seen, so that it does not go with what was its last order.
const INSERT_ORDERS = {
  name: 'insert-orders',
  text: `
with given as materialized (
  select * from unnest($1::text[], $2::text[], $3::int2[], $4::int8[], $5::text[], $6::text[], $7::bytea[],
    $8::timestamptz[], $9::text[]) with ordinality
  as t (merchant, out_trade_no, lane, amount_minor, currency, group_key, body_hash, expires_at, payload, ord)
), made as (
  insert into orders (merchant, out_trade_no, lane, status, amount_minor, currency, group_key, body_hash, expires_at, has_payload)
  select merchant, out_trade_no, lane, 'pending', amount_minor, currency, group_key, body_hash, expires_at, payload is not null
  from given order by merchant collate "C", out_trade_no collate "C"
  on conflict (merchant, out_trade_no) do nothing
  returning id, merchant, out_trade_no, lane, expires_at, group_key as grouped_by
), placed as materialized (
  select made.*, ord, payload from made join given using (merchant, out_trade_no)
), shared as materialized (
  select from placed p join groups g on g.merchant = p.merchant and g.group_key = p.grouped_by for key share of g
), grouped as (
  insert into groups (merchant, group_key) select distinct merchant, grouped_by
  from placed, (select count(*) from shared) s where grouped_by is not null order by 1, 2 on conflict do nothing
), timer as (
  insert into timers (lane, order_id, kind, due_at) select lane, id, 'expiry', expires_at from placed
), payload as (
  insert into order_payloads (order_id, payload) select id, payload from placed where payload is not null
)
select ord, id from placed`,
}

export interface NewOrder {
  readonly body: OrderBody
  readonly lane: number
}

/**
 * Inserts the orders whose keys are new, as `pending`, with their expiry timers and payloads.
 * @param orders no key twice
 * @returns the ids of the inserted ones, by their index
 */
export async function insertOrders(tx: Transaction, orders: readonly NewOrder[]): Promise<Map<number, number>> {
  const bodies = orders.map(({ body }) => body)
  const rows = await rowsOf<[ord: unknown, id: unknown]>(tx, INSERT_ORDERS, [
    texts(bodies.map(({ merchant }) => merchant)),
    texts(bodies.map(({ outTradeNo }) => outTradeNo)),
    int2s(orders.map(({ lane }) => lane)),
    int8s(bodies.map(({ amountMinor }) => amountMinor)),
    texts(bodies.map(({ currency }) => currency)),
    texts(bodies.map(({ groupKey }) => groupKey)),
    byteas(bodies.map(bodyHash)),
    timestamps(bodies.map(({ expiresAtMs }) => expiresAtMs)),
    texts(bodies.map(({ payload }) => payload)),
  ])
  return new Map(rows.map(([ord, id]) => [int(ord) - 1, int(id)]))
}
