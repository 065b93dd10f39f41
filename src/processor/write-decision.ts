import type { Decision } from '../orders/decision.ts'
import type { Transaction } from '../runtime/postgres.ts'
import type { LockedOrder } from '../store/lock-orders.ts'
import { NOTHING, writeBatch, type Writes, type Written } from '../store/write-batch.ts'
import { ordersOf } from './events-to-emit.ts'
import type { Applied, Position } from './lane-types.ts'

/** A decision's events as rows; the caller's notices come after them. */
export const eventRowsOf = (
  { events }: Decision,
  traceOf: (orderId: number, cause: string) => string | null,
): Writes['events'] =>
  events.map(({ outTradeNo, ...event }) => ({
    ...event,
    key: outTradeNo,
    traceparent: traceOf(event.orderId, event.cause),
  }))

/** Everything of a decision that is written as it stands. */
export const writesOf = (decision: Decision, end: number): Writes => ({ ...NOTHING, ...decision, end, events: [] })

export type Finished = Pick<Applied, 'baseSeq' | 'nextSeq' | 'events' | 'payloadOrders'> &
  Pick<Written, 'floodCount' | 'isWhole'>

/** D, and the events it numbered. @returns undefined: the lane's row refused. */
export async function writeDecision(
  tx: Transaction,
  position: Position,
  writes: Writes,
  locked: readonly LockedOrder[],
): Promise<Finished | undefined> {
  const written = await writeBatch(tx, position, writes)
  if (written === undefined) return undefined
  const { baseSeq } = written
  const events = writes.events.map((event, index) => ({ ...event, laneSeq: baseSeq + index, payload: null }))
  const withPayload = new Set(locked.filter(({ hasPayload }) => hasPayload).map(({ order }) => order.id))
  return {
    ...written,
    nextSeq: baseSeq + events.length,
    events,
    payloadOrders: withPayload.size === 0 ? [] : ordersOf(events).filter((id) => withPayload.has(id)),
  }
}
