import type { EventRow } from '../store/event-row.ts'
import { ordersOf, readEvents, withPayloads } from '../store/read-events.ts'
import type { LaneSession } from './lane-session.ts'
import type { Applied, Position } from './lane-types.ts'

/** What one Kafka transaction carries after a takeover; the rest follows in the next one. */
export const EMIT_ROWS_MAX = 4_000

/**
 * The lane's events that are not emitted, in order, each with its order's payload: those in hand when nothing older
 * waits, else all rows from the ledger on, whoever wrote them. To be called after COMMIT and after every fence.
 * @param applied what was just committed; undefined after a fence
 * @returns at most 4,000 when read: emit them, raise the ledger, and call again until the ledger is the lane's counter
 */
export async function eventsToEmit(
  session: LaneSession,
  position: Position,
  applied?: Applied,
): Promise<readonly EventRow[]> {
  const inHand = applied !== undefined && applied.baseSeq === position.ledger
  const events = inHand ? applied.events : await readEvents(session, position.lane, position.ledger, EMIT_ROWS_MAX)
  return withPayloads(session, events, inHand ? applied.payloadOrders : ordersOf(events))
}
