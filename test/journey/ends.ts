import type { NewEvent } from '../../src/orders/decision.ts'
import { factCause } from '../../src/orders/identity.ts'
import type { Order, StoredFact } from '../../src/orders/model.ts'
import type { Shop } from '../orders/shop.ts'

/** All that can be told about an order afterwards; the pure decision and the running system must tell the same. */
export interface End {
  readonly order: Omit<Order, 'id' | 'version' | 'closedAtMs'>
  /** Each fact and what became of it, copies too, in the order of the order's partition. */
  readonly deliveries: readonly string[]
  readonly facts: readonly string[]
  readonly anomalies: readonly string[]
  readonly timers: readonly string[]
  /** In the order of their sequence. */
  readonly events: readonly string[]
  readonly notices: readonly string[]
  readonly close: string | undefined
}

type AnyEvent = Pick<NewEvent, 'kind' | 'topic' | 'eventId' | 'cause' | 'occurredAtMs' | 'attrs'> &
  Pick<NewEvent, 'sequence' | 'amountMinor' | 'currency' | 'paymentRef'>

/** A command's effect happened when the lane's clock said so, which the other side cannot know. */
const timeOf = ({ cause, occurredAtMs }: AnyEvent) => (cause === 'close' || cause === 'expire' ? 'then' : occurredAtMs)

export const sayEvent = (event: AnyEvent) =>
  [event.sequence, event.kind, event.topic, event.eventId, event.cause, event.amountMinor, event.currency]
    .concat([event.paymentRef, timeOf(event), event.attrs])
    .join(' ')
export const sayNotice = (event: AnyEvent) => [event.kind, event.eventId, event.cause, timeOf(event)].join(' ')
export const sayFact = (fact: StoredFact) =>
  [factCause(fact), fact.outcome, fact.paymentRef, fact.amountMinor, fact.currency, fact.amountKind, fact.eventTimeMs]
    .concat([fact.detail])
    .join(' ')
export const sayAnomaly = (one: { kind: string; cause: string; resolution: string | null }) =>
  `${one.kind}:${one.cause}: ${one.resolution ?? 'open'}`

/** Not its version, which its creation raises, nor when it was closed, which a clock says. */
const sayOrder = ({ merchant, outTradeNo, status, amountMinor, currency, groupKey, ...more }: Order): End['order'] => {
  const { acceptedRef, paidAtMs, closedBy, expiresAtMs, heldCount, sequence } = more
  return {
    ...{ merchant, outTradeNo, status, amountMinor, currency, groupKey, acceptedRef, paidAtMs, closedBy, expiresAtMs },
    ...{ heldCount, sequence },
  }
}

/** What the pure decision comes to. */
export function endOf(shop: Shop, orderId: number, deliveries: readonly string[], close: string | undefined): End {
  const { order, facts, anomalies, timers } = shop.row(orderId)
  const events = shop.events.filter((event) => event.orderId === orderId)
  return {
    order: sayOrder(order),
    deliveries,
    facts: [...facts.values()].map(sayFact).sort(),
    anomalies: [...anomalies.values()].map(sayAnomaly).sort(),
    timers: [...timers].sort(),
    events: events.filter(({ sequence }) => sequence !== null).map(sayEvent),
    notices: events
      .filter(({ sequence }) => sequence === null)
      .map(sayNotice)
      .sort(),
    close,
  }
}
