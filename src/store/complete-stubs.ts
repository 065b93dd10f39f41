import { bodyHash, type OrderBody } from '../orders/order-body.ts'
import type { Transaction } from '../runtime/postgres.ts'
import { byteas, int8s, texts, timestamps } from './bind.ts'
import { int, rowsOf } from './statement.ts'

// The lane of a stub is that of the partition its callback lay in: the same by the partitioner, and it stays.
const COMPLETE_STUBS = {
  name: 'complete-stubs',
  text: `
with given as materialized (
  select * from unnest($1::int8[], $2::int8[], $3::text[], $4::text[], $5::bytea[], $6::timestamptz[], $7::text[])
  as t (id, amount_minor, currency, group_key, body_hash, expires_at, payload)
), turned as (
  update orders o set status = 'pending', amount_minor = g.amount_minor, currency = g.currency, group_key = g.group_key,
    body_hash = g.body_hash, expires_at = g.expires_at, has_payload = g.payload is not null, version = o.version + 1,
    updated_at = now()
  from given g where o.id = g.id and o.status = 'awaited'
  returning o.id, o.lane, o.merchant, o.group_key, g.expires_at, g.payload
), shared as materialized (
  select from turned t join groups g on g.merchant = t.merchant and g.group_key = t.group_key for key share of g
), grouped as (
  insert into groups (merchant, group_key) select distinct merchant, group_key
  from turned, (select count(*) from shared) s where group_key is not null order by 1, 2 on conflict do nothing
), timer as (
  insert into timers (lane, order_id, kind, due_at) select lane, id, 'expiry', expires_at from turned
  on conflict do nothing
), payload as (
  insert into order_payloads (order_id, payload) select id, payload from turned where payload is not null
), wake as (
  insert into commands (lane, order_id, kind) select lane, id, 'wake' from turned
)
select lane from turned`,
}

/**
 * Gives stubs, which the caller has locked, their terms, and leaves a wake item for each one's held facts.
 * @returns the lanes to be woken
 */
export async function completeStubs(
  tx: Transaction,
  stubs: readonly { readonly orderId: number; readonly body: OrderBody }[],
): Promise<number[]> {
  const bodies = stubs.map(({ body }) => body)
  const rows = await rowsOf<[lane: number]>(tx, COMPLETE_STUBS, [
    int8s(stubs.map(({ orderId }) => orderId)),
    int8s(bodies.map(({ amountMinor }) => amountMinor)),
    texts(bodies.map(({ currency }) => currency)),
    texts(bodies.map(({ groupKey }) => groupKey)),
    byteas(bodies.map(bodyHash)),
    timestamps(bodies.map(({ expiresAtMs }) => expiresAtMs)),
    texts(bodies.map(({ payload }) => payload)),
  ])
  if (rows.length !== stubs.length) throw new Error(`${rows.length} of ${stubs.length} locked stubs took their terms`)
  return rows.map(([lane]) => int(lane))
}
