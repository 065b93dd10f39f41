import { keepBack, queueOf, type Brakes, type KeptBack } from '../orders/brake.ts'
import type { Decision } from '../orders/decision.ts'
import type { Transaction } from '../runtime/postgres.ts'
import type { LockedOrder } from '../store/lock-orders.ts'
import { placeImported, readImported } from '../store/imported-events.ts'
import { keepWaiting, readBehind } from '../store/waiting-events.ts'
import { NOTHING, writeBatch, type Writes, type Written } from '../store/write-batch.ts'
import { ordersOf } from '../store/read-events.ts'
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
export const writesOf = (decision: Decision, end: number, nowMs: number): Writes => ({
  ...NOTHING,
  ...decision,
  end,
  nowMs,
  events: [],
})

export type Finished = Pick<Applied, 'baseSeq' | 'nextSeq' | 'events' | 'payloadOrders'> &
  Pick<Written, 'floodCount' | 'isWhole'>

/**
 * D, and the events it numbered; those that a brake keeps back are put away without a number.
 * @param brakes those of `position.brakeVersion`, or newer
 * @returns undefined: the lane's row refused.
 */
export async function writeDecision(
  tx: Transaction,
  position: Position,
  writes: Writes,
  locked: readonly LockedOrder[],
  brakes: Brakes,
): Promise<Finished | undefined> {
  const out = await outAlready(tx, position, writes.events)
  const news = out.size === 0 ? writes.events : writes.events.filter(({ eventId }) => !out.has(eventId))
  const { go, wait } = await applyBrakes(tx, news, locked, brakes)
  const written = await writeBatch(tx, position, go === writes.events ? writes : { ...writes, events: go })
  if (written === undefined) return undefined
  if (wait.length > 0) await keepWaiting(tx, position.lane, wait)
  const { lane } = position
  const isPlaced = out.size === 0 || (await placeImported(tx, { lane, nowMs: writes.nowMs }, writes.events, out))
  return finish({ ...written, isWhole: written.isWhole && isPlaced }, go, locked)
}

/** The numbers of events that were emitted before Postgres was set back: they get no other, and no brake holds them. */
export const outAlready = async (
  tx: Transaction,
  { lane, hasImported }: Position,
  events: Writes['events'],
): Promise<ReadonlyMap<string, number>> => (hasImported === true ? readImported(tx, lane, events) : NONE)
const NONE: ReadonlyMap<string, number> = new Map()

async function applyBrakes(
  tx: Transaction,
  events: Writes['events'],
  locked: readonly LockedOrder[],
  brakes: Brakes,
): Promise<KeptBack<Writes['events'][number]>> {
  const waiting = locked.filter(({ waitingCount }) => waitingCount > 0).map(({ order }) => order.id)
  if (events.length === 0 || (brakes.isNone && waiting.length === 0)) return { go: events, wait: [] }
  const behind = await readBehind(tx, waiting)
  return keepBack(events, brakes, (event) => behind.get(queueOf(event) ?? ''))
}

export function finish(written: Written, numbered: Writes['events'], locked: readonly LockedOrder[]): Finished {
  const { baseSeq } = written
  const events = numbered.map((event, index) => ({ ...event, laneSeq: baseSeq + index, payload: null }))
  const withPayload = new Set(locked.filter(({ hasPayload }) => hasPayload).map(({ order }) => order.id))
  return {
    ...written,
    nextSeq: baseSeq + events.length,
    events,
    payloadOrders: withPayload.size === 0 ? [] : ordersOf(events).filter((id) => withPayload.has(id)),
  }
}
