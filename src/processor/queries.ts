import type { NewTimer } from '../store/write-batch.ts'
import type { LaneRecord } from './lane-types.ts'

/**
 * Questions about one order that may wait at once. A hint is not signed: from one v2 refund notice that somebody has
 * caught, many could be put together that all decrypt (AES-ECB: blocks change places unseen), each of another refund,
 * and each would cost a row and a request to the provider. An order's own refunds under way at once are fewer.
 */
export const QUERIES_OF_ORDER_MAX = 10

interface Hint {
  readonly orderId: number
  readonly ref: string
}

/**
 * What the hints of a batch ask about. A hint is not proven, so that one about an unknown order leaves nothing behind:
 * else anybody could fill the tables.
 * @param namedOrders of records without facts, by offset
 */
export function hintsOf(records: readonly LaneRecord[], namedOrders: ReadonlyMap<number, number>): Hint[] {
  if (namedOrders.size === 0) return []
  return records.flatMap(({ content, offset }): Hint[] => {
    const orderId = namedOrders.get(offset)
    if (content.kind !== 'noted' || content.callback.instead?.kind !== 'hint' || orderId === undefined) return []
    return [{ orderId, ref: content.callback.instead.ref }]
  })
}

export interface Queries {
  /** Due now: new ones, and those that a hint brings forward. */
  readonly timers: readonly NewTimer[]
  /** Hints whose order has as many questions open as it may; they stay in its timeline and are counted. */
  readonly leftOut: number
}

/** @param open refs that wait already, by order */
export function queriesOf(
  hints: readonly Hint[],
  open: ReadonlyMap<number, ReadonlySet<string>>,
  nowMs: number,
): Queries {
  const asked = new Map<number, Set<string>>()
  let leftOut = 0
  const timers = hints.flatMap(({ orderId, ref }): NewTimer[] => {
    const refs = asked.get(orderId) ?? new Set(open.get(orderId))
    asked.set(orderId, refs)
    if (!refs.has(ref) && refs.size >= QUERIES_OF_ORDER_MAX) {
      leftOut += 1
      return []
    }
    refs.add(ref)
    return [{ orderId, kind: 'query', ref, dueAtMs: nowMs }]
  })
  return { timers, leftOut }
}
