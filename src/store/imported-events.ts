import type { Transaction } from '../runtime/postgres.ts'
import { createBinder } from './binder.ts'
import { bindEvent, type UnnumberedEvent } from './event-columns.ts'
import { int, rowsOf } from './statement.ts'

/** An event that was emitted before Postgres was set back: it has its number already. */
interface Placed {
  readonly event: UnnumberedEvent
  readonly laneSeq: number
}

const $ids = createBinder<{ lane: number; events: readonly UnnumberedEvent[] }>()
const READ_IMPORTED = {
  name: 'read-imported',
  text: `
select i.event_id::text, i.lane_seq from ${$ids.rows(
    'e',
    ({ events }) => events,
    (is) => [is.uuid('event_id', ({ eventId }) => eventId)],
  )}
join imported_events i on i.event_id = e.event_id where i.lane = ${$ids.int2(({ lane }) => lane)}`,
}

/** The numbers of those of these events that are out. To be called under their orders' locks. */
export async function readImported(
  tx: Transaction,
  lane: number,
  events: readonly UnnumberedEvent[],
): Promise<ReadonlyMap<string, number>> {
  if (events.length === 0) return new Map()
  const rows = await rowsOf<[id: string, laneSeq: unknown]>(tx, READ_IMPORTED, $ids.values({ lane, events }))
  return new Map(rows.map(([id, laneSeq]) => [id, int(laneSeq)]))
}

const $ = createBinder<{ lane: number; nowMs: number; placed: readonly Placed[] }>()
const lane = $.int2(({ lane: number }) => number)
// The number moves from one table to the other, so that it is in one of them at any time.
const PLACE_IMPORTED = {
  name: 'place-imported',
  text: `
with e as (
  select * from ${$.rows(
    'e',
    ({ placed }) => placed,
    (is) => [is.int8('lane_seq', ({ laneSeq }) => laneSeq), ...bindEvent(is, ({ event }) => event)],
  )}
), gone as (
  delete from imported_events i using e where i.event_id = e.event_id and i.lane = ${lane} and i.lane_seq = e.lane_seq returning 1
), placed as (
  insert into events (lane, lane_seq, day, topic, event_id, kind, order_id, merchant, key, sequence, cause, amount_minor,
    currency, payment_ref, occurred_at, received_at, attrs, traceparent)
  select ${lane}, e.lane_seq, ${$.day(({ nowMs }) => nowMs)}, e.topic, e.event_id, e.kind, e.order_id, e.merchant, e.key,
    e.sequence, e.cause, e.amount_minor, e.currency, e.payment_ref, e.occurred_at, e.received_at, e.attrs, e.traceparent
  from e
)
select count(*) from gone`,
}

/**
 * Writes events that are out with the numbers that they have. To be called behind D, which holds the lane's row.
 * @returns false: they were not all there. Roll back.
 */
export async function placeImported(
  tx: Transaction,
  { lane: number, nowMs }: { readonly lane: number; readonly nowMs: number },
  events: readonly UnnumberedEvent[],
  numbers: ReadonlyMap<string, number>,
): Promise<boolean> {
  const placed = events.flatMap((event) => {
    const laneSeq = numbers.get(event.eventId)
    return laneSeq === undefined ? [] : [{ event, laneSeq }]
  })
  if (placed.length === 0) return true
  const [row] = await rowsOf<[gone: unknown]>(tx, PLACE_IMPORTED, $.values({ lane: number, nowMs, placed }))
  return int(row?.[0]) === placed.length
}
