import type { NewEvent } from '../../src/orders/decision.ts'
import type { EventKind, Status } from '../../src/orders/model.ts'

/** Of an event, what its effect rests on; as a worker reads it from its topic. */
export type Told = Pick<NewEvent, 'kind' | 'topic' | 'amountMinor'>

/** What is left in the world when all that the workers of one topic were told is done. */
export interface Net {
  /** Parcels that are, or will be, with the customer; stock that is gone; points that are granted. */
  readonly left: number
  /** Reservations that ended without a sale. */
  readonly unreserved: number
  /** What was paid and not said to be refunded. Not below zero: what goes beyond the whole is for a person. */
  readonly keptMinor: number
}

const GIVES: ReadonlySet<string> = new Set<EventKind>(['ship', 'deduct', 'grant'])
const TAKES_BACK: ReadonlySet<string> = new Set<EventKind>(['cancel', 'return', 'restore', 'revoke'])

/**
 * The net effect of an order's events, by topic: ship − cancel − return, deduct − restore, grant − revoke, unreserve,
 * and the money: what was paid less all refunds that were told. Which events it took to get there does not count: an
 * order that was refunded before anybody knew that it was paid comes to the same as one that was shipped and cancelled.
 */
export function netEffect(events: readonly Told[]): Record<string, Net> {
  const net: Record<string, Net> = {}
  for (const { kind, topic, amountMinor } of events) {
    if (kind === 'anomaly_opened' || kind === 'anomaly_resolved') continue
    const before = net[topic] ?? { left: 0, unreserved: 0, keptMinor: 0 }
    net[topic] = {
      left: before.left + (GIVES.has(kind) ? 1 : 0) - (TAKES_BACK.has(kind) ? 1 : 0),
      unreserved: before.unreserved + (kind === 'unreserve' ? 1 : 0),
      keptMinor: before.keptMinor + (GIVES.has(kind) ? 1 : -1) * (amountMinor ?? 0),
    }
  }
  const whole = Object.entries(net).map(
    ([topic, one]) => [topic, { ...one, keptMinor: Math.max(0, one.keptMinor) }] as const,
  )
  // Nothing left is nothing told.
  return Object.fromEntries(whole.filter(([, one]) => one.left !== 0 || one.unreserved !== 0 || one.keptMinor !== 0))
}

/** Where the net effect does not fit what the order has come to. Empty: it does. */
export function misfits(status: Status, net: Readonly<Record<string, Net>>): string[] {
  const { left: parcels, keptMinor } = net['fulfillment.shipment.v1'] ?? NONE
  const { left: stock, unreserved } = net['fulfillment.inventory.v1'] ?? NONE
  const { left: points } = net['fulfillment.points.v1'] ?? NONE
  const isPaid = status === 'paid' || status === 'shipped'
  const wrong: string[] = []
  if (parcels !== Number(isPaid)) wrong.push(`${parcels} parcels of an order that is ${status}`)
  if (points !== Number(isPaid)) wrong.push(`points are granted ${points} times while ${status}`)
  if (isPaid !== keptMinor > 0) wrong.push(`${keptMinor} are kept while ${status}`)
  // A refund of what was shipped gives no stock back until it is returned; and a customer may return it before.
  if (stock < 0 || stock > 1 || (status === 'paid' && stock !== 1)) wrong.push(`stock is taken ${stock} times`)
  if (unreserved > 1 || (status === 'closed' && unreserved !== 1)) wrong.push(`unreserved ${unreserved} times`)
  return wrong
}

const NONE: Net = { left: 0, unreserved: 0, keptMinor: 0 }
