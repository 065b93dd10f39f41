import type { End } from './life.ts'
import type { CloseLine, LogLine, OrderLine, SentLine, StatedFact } from './log.ts'
import { ends, type Timed } from './possible-ends.ts'

/** An order by the names that the log has for it. */
export interface OrderRef {
  readonly merchant: string
  readonly outTradeNo: string
}

/** What must be true of the whole system, computed from what the senders sent and heard, and from nothing else. */
export interface Expected {
  /** Rightly paid, whatever the order of arrival: workers hear of it (ship, deduct, grant), each once. */
  readonly paid: readonly OrderRef[]
  /** Paid in some orders of arrival only, or by what was not answered with success, or not heard to be created. */
  readonly uncertain: readonly OrderRef[]
  /** Everything else that was named: unknown, wrongly paid, closed, forged only. Workers must hear of no payment. */
  readonly unpaid: readonly OrderRef[]
  /** Every order with the ends that it may have. */
  readonly orders: readonly ExpectedOrder[]
  /** Forged, stale, cut off or probing deliveries that were answered with success: each is a hole. */
  readonly wronglyAccepted: readonly SentLine[]
  /** Deliveries with nothing wrong in them, answered with something else than success: each comes again. */
  readonly genuineRefused: readonly SentLine[]
}

export interface ExpectedOrder extends OrderRef {
  /** One, unless arrival order decides, or something was not answered; undefined: too many ways to tell. */
  readonly ends: readonly End[] | undefined
}

interface Seen extends OrderRef {
  order: OrderLine | undefined
  readonly closes: CloseLine[]
  /** By what they state: the deliveries of one message, and of others that state the same. */
  readonly messages: Map<string, { readonly facts: readonly StatedFact[]; readonly deliveries: SentLine[] }>
}

/** Judges a run by its log. */
export function expectedOf(lines: Iterable<LogLine>): Expected {
  const seen = new Map<string, Seen>()
  const sent: SentLine[] = []
  const of = ({ merchant, outTradeNo }: OrderRef) => {
    const key = `${merchant}/${outTradeNo}`
    const known: Seen = seen.get(key) ?? { merchant, outTradeNo, order: undefined, closes: [], messages: new Map() }
    seen.set(key, known)
    return known
  }
  for (const line of lines) {
    if (line.line === 'query') continue
    if (line.line === 'close') of(line).closes.push(line)
    // Once created it stays so, whatever was heard when it was asked for again.
    else if (line.line === 'order') of(line).order = of(line).order?.heard === 'created' ? of(line).order : line
    else {
      sent.push(line)
      of(line)
      if (line.defect === 'none') addMessage(line, of)
    }
  }
  const orders = [...seen.values()].map((one): ExpectedOrder & { fulfilled: Fulfilled } => {
    const { merchant, outTradeNo } = one
    const all = ends(timelineOf(one))
    return { merchant, outTradeNo, ends: all, fulfilled: fulfilledIn(all) }
  })
  const those = (fulfilled: Fulfilled) =>
    orders.flatMap((one) =>
      one.fulfilled === fulfilled ? [{ merchant: one.merchant, outTradeNo: one.outTradeNo }] : [],
    )
  return {
    ...{ paid: those('always'), uncertain: those('maybe'), unpaid: those('never') },
    orders: orders.map(({ merchant, outTradeNo, ends: all }) => ({ merchant, outTradeNo, ends: all })),
    wronglyAccepted: sent.filter(({ defect, heard }) => defect !== 'none' && heard === 'success'),
    genuineRefused: sent.filter(
      ({ defect, heard, isSlow }) =>
        defect === 'none' && isSlow !== true && (heard === 'failure' || heard === 'wrong_form'),
    ),
  }
}

function addMessage(line: SentLine, of: (ref: OrderRef) => Seen) {
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
function timelineOf({ order, closes, messages }: Seen): Timed[] {
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

type Fulfilled = 'always' | 'maybe' | 'never'

function fulfilledIn(all: readonly End[] | undefined): Fulfilled {
  if (all === undefined) return 'maybe'
  const fulfilled = all.filter(({ events }) => events['ship'] !== undefined).length
  return fulfilled === all.length ? 'always' : fulfilled === 0 ? 'never' : 'maybe'
}
