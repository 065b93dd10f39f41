import { replay, type End, type Step } from './life.ts'
import type { Callback } from './avro.ts'
import type { CloseLine, OrderLine } from './capture.ts'

export interface HeardMessage {
  readonly facts: Callback['facts']
  /** When it was first sent; null: nobody says so. */
  readonly sentMs: number | null
}

const endMs = ({ atMs, latencyMs }: { atMs: number; latencyMs: number }) => atMs + latencyMs + 1

/**
 * Every end that an order can have: its records lie in the lane in one order, but a create or close is no record, so it
 * is tried at each place where the answers that were heard allow it.
 * @param messages in the lane's order, each once
 */
export function possibleEnds(
  order: OrderLine | undefined,
  closes: readonly CloseLine[],
  messages: readonly HeardMessage[],
): End[] {
  const told = messages.map(({ facts }): Step => ({ kind: 'message', facts }))
  const last = (atMs: number | null) => {
    if (atMs === null) return messages.length
    const later = messages.findIndex(({ sentMs }) => sentMs !== null && sentMs > atMs)
    return later < 0 ? messages.length : later
  }
  const places = (to: number) => Array.from({ length: to + 1 }, (_, place) => place)
  const created = order?.heard === 'created'
  const createPlaces: (number | null)[] =
    order === undefined || order.heard === 'refused'
      ? [null]
      : [...places(last(created ? endMs(order) : null)), ...(created ? [] : [null])]
  const isClosed = closes.some(({ heard }) => heard === 'closed')
  const closedMs = Math.min(...closes.filter(({ heard }) => heard === 'closed').map(endMs))
  const closePlaces: (number | null)[] =
    closes.length === 0 || closes.every(({ heard }) => heard === 'refused')
      ? [null]
      : [...places(last(isClosed ? closedMs : null)), ...(isClosed ? [] : [null])]
  const found = new Map<string, End>()
  for (const create of createPlaces)
    for (const close of closePlaces) {
      if (close !== null && (create === null || close < create)) continue
      const steps = [...told]
      if (close !== null) steps.splice(close, 0, { kind: 'close' })
      if (create !== null && order !== undefined)
        steps.splice(create, 0, { kind: 'create', amountMinor: order.amountMinor, currency: order.currency })
      const end = replay(steps)
      found.set(JSON.stringify(end), end)
    }
  return [...found.values()]
}
