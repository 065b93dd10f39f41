import { queueOf } from '../orders/brake.ts'
import type { Transaction } from '../runtime/postgres.ts'
import { int8s } from './bind.ts'
import { createBinder } from './binder.ts'
import { bindEvent, eventColumns, eventOf, type EventColumns, type UnnumberedEvent } from './event-columns.ts'
import { int, intOrNull, rowsOf } from './statement.ts'

export interface WaitingEvent extends UnnumberedEvent {
  readonly id: number
  readonly brakeId: number
  /** A brake that is set, for which an earlier event of its order waits; null: none. */
  readonly behind: number | null
}

interface Kept {
  readonly event: UnnumberedEvent
  readonly brakeId: number
}
const $ = createBinder<{ lane: number; kept: readonly Kept[] }>()
const KEEP_WAITING = {
  name: 'keep-waiting',
  text: `
with kept as (
  insert into waiting_events (lane, brake_id, topic, event_id, kind, order_id, merchant, key, sequence, cause,
    amount_minor, currency, payment_ref, occurred_at, attrs, traceparent)
  select ${$.int2(({ lane }) => lane)}, e.brake_id, e.topic, e.event_id, e.kind, e.order_id, e.merchant, e.key, e.sequence,
    e.cause, e.amount_minor, e.currency, e.payment_ref, e.occurred_at, e.attrs, e.traceparent
  from ${$.rows(
    'e',
    ({ kept }) => kept,
    (is) => [is.int8('brake_id', (e) => e.brakeId), ...bindEvent(is, ({ event }) => event)],
  )}
  order by e.ord returning order_id
)
update orders o set waiting_count = o.waiting_count + k.n
from (select order_id, count(*)::int as n from kept where order_id is not null group by order_id) k
where o.id = k.order_id`,
}

/** Keeps events back. To be called behind D, which holds the lane's row, in the transaction that locked their orders. */
export async function keepWaiting(tx: Transaction, lane: number, kept: readonly Kept[]): Promise<void> {
  await tx.query({ ...KEEP_WAITING, values: $.values({ lane, kept }) })
}

const READ_BEHIND = {
  name: 'read-behind',
  text: `
select i.id, s.is_notice, w.brake_id
from unnest($1::int8[]) as i (id) cross join (values (false), (true)) as s (is_notice) cross join lateral (
  select brake_id from waiting_events where order_id = i.id and (sequence is null) = s.is_notice order by id desc limit 1
) w`,
}

/**
 * What the last event of each queue of these orders waits for, by `queueOf`.
 * @param orderIds locked, with a `waiting_count`
 */
export async function readBehind(tx: Transaction, orderIds: readonly number[]): Promise<ReadonlyMap<string, number>> {
  if (orderIds.length === 0) return new Map()
  const rows = await rowsOf<[id: unknown, isNotice: boolean, brakeId: unknown]>(tx, READ_BEHIND, [int8s(orderIds)])
  return new Map(
    rows.map(([id, isNotice, brakeId]) => [
      queueOf({ orderId: int(id), sequence: isNotice ? null : 0 }) ?? '',
      int(brakeId),
    ]),
  )
}

/** Of one step: small enough for one Kafka transaction, and for the orders' locks to be short. */
export const RELEASE_ROWS_MAX = 1_000

// Those that wait for a brake that is released. With any earlier event of theirs that waits for one that is set: by
// induction such an event stays, so they stay behind it.
const READ_RELEASED = {
  name: 'read-released',
  text: `
select ${eventColumns('w', 'null')}, w.id, w.brake_id, (
    select b.brake_id from waiting_events b join brakes s on s.id = b.brake_id
    where b.order_id = w.order_id and b.id < w.id and (b.sequence is null) = (w.sequence is null) and s.released_at is null
    order by b.id desc limit 1
  )
from brakes r cross join lateral (
  select * from waiting_events where lane = ($1::int2[])[1] and brake_id = r.id order by id limit ${RELEASE_ROWS_MAX}
) w
where r.done_at is null and r.released_at is not null order by w.id limit ${RELEASE_ROWS_MAX}`,
}
type ReleasedRow = [...EventColumns, id: unknown, brakeId: unknown, behind: unknown]

/** The lane's next events that wait for a released brake, in order. Before the orders' locks only a hint. */
export async function readReleased(tx: Transaction, lane: number): Promise<WaitingEvent[]> {
  const rows = await rowsOf<ReleasedRow>(tx, READ_RELEASED, [[lane]])
  return rows.map((row) => ({
    ...eventOf(row),
    ...{ id: int(row[15]), brakeId: int(row[16]), behind: intOrNull(row[17]) },
  }))
}

const SPEND_WAITING = {
  name: 'spend-waiting',
  text: `
with gone as (
  delete from waiting_events w where w.id = any($1::int8[]) returning w.order_id
), counted as (
  update orders o set waiting_count = o.waiting_count - g.n
  from (select order_id, count(*)::int as n from gone where order_id is not null group by order_id) g
  where o.id = g.order_id
), moved as (
  update waiting_events w set brake_id = m.brake_id from unnest($2::int8[], $3::int8[]) as m (id, brake_id)
  where w.id = any($2::int8[]) and w.id = m.id returning 1
)
select (select count(*) from gone), (select count(*) from moved)`,
}

/**
 * Takes numbered events out of those that wait, and puts the others to the brake that they wait for now. To be called
 * behind D, as `keepWaiting`.
 * @returns false: they were not all there. Roll back.
 */
export async function spendWaiting(
  tx: Transaction,
  goneIds: readonly number[],
  moved: readonly { readonly id: number; readonly brakeId: number }[],
): Promise<boolean> {
  const movedIds = int8s(moved.map(({ id }) => id))
  const values = [int8s(goneIds), movedIds, int8s(moved.map(({ brakeId }) => brakeId))]
  const [row] = await rowsOf<[gone: unknown, moved: unknown]>(tx, SPEND_WAITING, values)
  return int(row?.[0]) === goneIds.length && int(row?.[1]) === moved.length
}
