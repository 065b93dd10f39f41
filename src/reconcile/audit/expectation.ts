import type { EventKind } from '../../orders/model.ts'
import { factCauseOf, isAcceptance, type AuditedAnomaly, type AuditedFact, type AuditedOrder } from './audited-order.ts'
import { refundedMinor } from './refunded.ts'

/** What one cause must have sent to workers. */
export interface Expectation {
  readonly cause: string
  /** When its cause was written down: it sent nothing before. */
  readonly atMs: number
  /** One of these sets of kinds, each kind to all its topics; an empty one: it may have sent nothing. */
  readonly oneOf: readonly (readonly EventKind[])[]
  /** What may come besides: what was refunded before a person accepted the payment. */
  readonly perhaps: { readonly kind: EventKind; readonly money: Money } | null
  /** What its events say of money; null: nothing. */
  readonly money: Money | null
}

export interface Money {
  /** Undefined: a part of the figure, as other refunds are cumulative. */
  readonly exactMinor: bigint | undefined
  readonly mostMinor: bigint
  readonly currency: string
  readonly paymentRef: string
}

const PAID: readonly EventKind[] = ['ship', 'deduct', 'grant']
const CANCELLED: readonly EventKind[] = ['cancel', 'restore', 'revoke']
const RETURNED: readonly EventKind[] = ['return', 'revoke']
const PART: readonly EventKind[] = ['refund']

/** What an order's facts, answers and closing must have sent, by the tables of its states, and by nothing else. */
export function expectationsOf(order: AuditedOrder): Expectation[] {
  const found: Expectation[] = []
  const plain = (cause: string, atMs: number, kind: EventKind) =>
    found.push({ cause, atMs, oneOf: [[kind]], perhaps: null, money: null })
  for (const fact of order.facts) {
    const cause = factCauseOf(fact)
    if (fact.eventType === 'payment_succeeded' && fact.outcome === 'applied') found.push(ofPayment(order, fact, cause))
    if (fact.eventType === 'refund_succeeded') found.push(...ofRefund(order, fact, cause))
    if (fact.eventType === 'provider_closed' && fact.outcome === 'applied') plain(cause, fact.recordedAtMs, 'unreserve')
    if (fact.eventType === 'goods_returned' && fact.outcome === 'applied') plain(cause, fact.recordedAtMs, 'restore')
  }
  for (const anomaly of order.anomalies) {
    const payment = isAcceptance(anomaly) ? order.facts.find((fact) => factCauseOf(fact) === anomaly.cause) : undefined
    if (payment !== undefined) found.push(ofAcceptance(order, payment, anomaly))
  }
  for (const [by, cause] of [
    ['merchant', 'close'],
    ['expiry', 'expire'],
  ] as const) {
    const isClosed = order.status === 'closed' && order.closedBy === by
    // One that was paid after all keeps the event of its closing, and nothing else says that it was closed.
    const oneOf = isClosed ? [['unreserve'] as const] : [['unreserve'] as const, []]
    found.push({ cause, atMs: order.closedAtMs ?? order.createdAtMs, oneOf, perhaps: null, money: null })
  }
  return found
}

/** A payment whose refunds were known before it and cover it ships nothing, and is refunded in silence. */
function ofPayment(order: AuditedOrder, payment: AuditedFact, cause: string): Expectation {
  const { providerRef: paymentRef, currency } = payment
  const amountMinor = BigInt(payment.amountMinor)
  const isHeard = order.events.some((event) => event.paymentRef === paymentRef)
  const isSilent = !isHeard && refundedMinor(order.facts, payment) >= amountMinor
  const money = { exactMinor: amountMinor, mostMinor: amountMinor, currency, paymentRef }
  return { cause, atMs: payment.recordedAtMs, oneOf: isSilent ? [PAID, []] : [PAID], perhaps: null, money }
}

function ofAcceptance(order: AuditedOrder, payment: AuditedFact, anomaly: AuditedAnomaly): Expectation {
  const { providerRef: paymentRef, currency, recordedAtMs } = payment
  const mostMinor = refundedMinor(order.facts, payment)
  const money = { exactMinor: undefined, mostMinor, currency, paymentRef }
  const paid = ofPayment(order, payment, `resolve:${anomaly.cause}`)
  return { ...paid, atMs: anomaly.resolvedAtMs ?? recordedAtMs, perhaps: { kind: 'refund', money } }
}

function ofRefund(order: AuditedOrder, refund: AuditedFact, cause: string): Expectation[] {
  const payment = order.facts.find(
    ({ eventType, providerRef }) => eventType === 'payment_succeeded' && providerRef === refund.paymentRef,
  )
  if (payment === undefined || !isAccepted(order.anomalies, payment)) return []
  const mostMinor = BigInt(refund.amountMinor)
  const isPart = order.facts.some((fact) => fact.paymentRef === payment.providerRef && fact.amountKind === 'cumulative')
  const { providerRef: paymentRef, currency } = payment
  const money = { exactMinor: isPart ? undefined : mostMinor, mostMinor, currency, paymentRef }
  const isShipped = order.facts.some(
    ({ eventType, outcome }) => eventType === 'shipment_completed' && outcome === 'applied',
  )
  const whole = isShipped ? [RETURNED, CANCELLED] : [CANCELLED, RETURNED]
  const sets = order.status === 'refunded' ? [...whole, PART] : [PART, ...whole]
  // The one that passed the amount is an anomaly, and ended the order if it was the first to reach it.
  const common = { cause, atMs: refund.recordedAtMs, perhaps: null, money }
  if (refund.outcome === 'anomaly') return [{ ...common, oneOf: [[], ...sets] }]
  return refund.outcome === 'applied' ? [{ ...common, oneOf: sets }] : []
}

/** The payment has moved its order, by itself or by a person's answer. */
export const isAccepted = (anomalies: readonly AuditedAnomaly[], payment: AuditedFact): boolean =>
  payment.outcome === 'applied' ||
  anomalies.some((anomaly) => isAcceptance(anomaly) && anomaly.cause === factCauseOf(payment))
