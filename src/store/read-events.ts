import type { Queryable } from '../runtime/postgres.ts'
import { int8s, int2s } from './bind.ts'
import { eventColumns, eventOf, type EventColumns } from './event-columns.ts'
import type { EventRow } from './event-row.ts'
import { int, ms, rowsOf } from './statement.ts'

const CHUNK_ROWS = 1_000

const READ_EVENTS = {
  name: 'read-events',
  text: `
select ${eventColumns('e', ms('e.received_at'))}, e.lane_seq
from events e where lane = ($1::int2[])[1] and lane_seq >= ($2::int8[])[1] order by lane_seq limit ${CHUNK_ROWS}`,
}
const READ_PAYLOADS = {
  name: 'read-payloads',
  text: 'select order_id, payload from order_payloads where order_id = any($1::int8[])',
}

type Row = [...EventColumns, laneSeq: unknown]

/** A lane's events from a number on, in order, without payload; at most `rowsMax`, in chunks. */
export async function readEvents(db: Queryable, lane: number, fromSeq: number, rowsMax: number): Promise<EventRow[]> {
  const events: EventRow[] = []
  while (events.length < rowsMax) {
    const from = (events.at(-1)?.laneSeq ?? fromSeq - 1) + 1
    const rows = await rowsOf<Row>(db, READ_EVENTS, [int2s([lane]), int8s([from])])
    events.push(...rows.map((row) => ({ laneSeq: int(row[15]), ...eventOf(row), payload: null })))
    if (rows.length < CHUNK_ROWS) break
  }
  return events.slice(0, rowsMax)
}

/** Workers get the payload, people do not need it. */
const isNotice = ({ sequence }: Pick<EventRow, 'sequence'>) => sequence === null

/** The orders whose payload the events need, each once. */
export function ordersOf(events: readonly Pick<EventRow, 'orderId' | 'sequence'>[]): number[] {
  const ids = new Set<number>()
  for (const event of events) if (!isNotice(event) && event.orderId !== null) ids.add(event.orderId)
  return [...ids]
}

/** @param orderIds the orders that have one, or may have */
export async function withPayloads(
  db: Queryable,
  events: readonly EventRow[],
  orderIds: readonly number[] = ordersOf(events),
): Promise<readonly EventRow[]> {
  const payloads = await readPayloads(db, orderIds)
  if (payloads.size === 0) return events
  return events.map((event) =>
    isNotice(event) || event.orderId === null ? event : { ...event, payload: payloads.get(event.orderId) ?? null },
  )
}

/** By order. Outside any transaction, as a frozen process that is being sent payloads would keep its locks. */
export async function readPayloads(db: Queryable, orderIds: readonly number[]): Promise<Map<number, string>> {
  if (orderIds.length === 0) return new Map()
  const rows = await rowsOf<[orderId: unknown, payload: string]>(db, READ_PAYLOADS, [int8s(orderIds)])
  return new Map(rows.map(([orderId, payload]) => [int(orderId), payload]))
}
