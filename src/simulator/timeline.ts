import type { CloseLine, OrderLine, SentLine, StatedFact } from './log.ts'
import type { Timed } from './possible-ends.ts'

/** An order by the names that the log has for it. */
export interface OrderRef {
  readonly merchant: string
  readonly outTradeNo: string
}

/** What the log has of an order. */
export interface Seen extends OrderRef {
  order: OrderLine | undefined
  readonly closes: CloseLine[]
  /** By what they state: the deliveries of one message, and of others that state the same. */
  readonly messages: Map<string, { readonly facts: readonly StatedFact[]; readonly deliveries: SentLine[] }>
}

/** Adds what a delivery states, of whichever order. */
export function addMessage(line: SentLine, of: (ref: OrderRef) => Seen) {
  const all = line.facts ?? [statedBy(line)]
  for (const [outTradeNo, facts] of Map.groupBy(all, (fact) => fact.outTradeNo)) {
    const { messages } = of({ merchant: line.merchant, outTradeNo })
    const name = JSON.stringify(facts)
    const known = messages.get(name)
    if (known === undefined) messages.set(name, { facts, deliveries: [line] })
    else known.deliveries.push(line)
  }
}

/** In a log that does not say it: the payment, or the parcel. */
const statedBy = ({ line, outTradeNo, provider, paymentRef, amountMinor, currency, atMs }: SentLine): StatedFact =>
  line === 'report'
    ? {
        ...{ outTradeNo, eventType: 'shipment_completed', providerRef: `${provider}:ship-${outTradeNo}` },
        ...{ paymentRef: null, amountMinor: 0, currency: '', amountKind: 'none', eventTimeMs: Math.floor(atMs) },
      }
    : {
        ...{ outTradeNo, eventType: 'payment_succeeded', providerRef: paymentRef, paymentRef: null },
        ...{ amountMinor, currency, amountKind: 'none', eventTimeMs: 0 },
      }

/** Each step with the time in which it surely happened, so that it is known which ones can have come first. */
export function timelineOf({ order, closes, messages }: Seen): Timed[] {
  const timeline: Timed[] = []
  if (order !== undefined && order.heard !== 'refused')
    timeline.push({
      step: { kind: 'create', amountMinor: order.amountMinor, currency: order.currency },
      fromMs: order.atMs,
      untilMs: order.heard === 'created' ? endOf(order) : null,
    })
  for (const close of closes)
    if (close.heard !== 'refused')
      timeline.push({
        step: { kind: 'close' },
        fromMs: close.atMs,
        untilMs: close.heard === 'closed' ? endOf(close) : null,
      })
  for (const { facts, deliveries } of messages.values()) {
    const heard = deliveries.filter((delivery) => delivery.heard === 'success').map(endOf)
    timeline.push({
      step: { kind: 'message', facts },
      fromMs: Math.min(...deliveries.map(({ atMs }) => atMs)),
      untilMs: heard.length === 0 ? null : Math.min(...heard),
    })
  }
  return timeline
}

/** A millisecond more, as the clock that was read had gone on since its last tick. */
const endOf = ({ atMs, latencyMs }: { atMs: number; latencyMs: number }) => atMs + latencyMs + 1
