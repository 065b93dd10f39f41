import type { Fact } from '../../../src/orders/model.ts'
import {
  beginPaid,
  causeOf,
  close,
  emit,
  open,
  otherPaid,
  refunded,
  settleAnomaly,
  type Known,
  type Work,
} from './reference.ts'

type Outcome = Known['outcome']

/** A delivered fact. */
export function receive(work: Work, fact: Fact): void {
  const cause = causeOf(fact)
  const known = work.order.facts.get(cause)
  if (known !== undefined && isSame(known.fact, fact)) return // It is not even locked, so that nothing else follows.
  releaseHeld(work)
  if (known === undefined) {
    const entry: Known = { fact, outcome: 'held' }
    work.order.facts.set(cause, entry)
    settle(work, entry)
    return
  }
  open(work, 'conflicting_fact', cause)
}

const isSame = (a: Fact, b: Fact) =>
  a.amountMinor === b.amountMinor && a.currency === b.currency && a.amountKind === b.amountKind

/** Whatever waits is tried again, oldest first. */
export function releaseHeld(work: Work): void {
  if (work.order.status === 'awaited') return
  retry(work, [...work.order.facts.values()])
}

function retry(work: Work, entries: readonly Known[]): void {
  const kinds = [
    'payment_succeeded',
    'payment_failed',
    'refund_succeeded',
    'refund_failed',
    'disputed',
    'provider_closed',
    'shipment_completed',
    'fulfillment_failed',
    'goods_returned',
    'bill_differs',
  ]
  const rank = ({ fact }: Known) => kinds.indexOf(fact.eventType)
  const held = entries
    .filter(({ outcome }) => outcome === 'held')
    .sort(
      (a, b) =>
        a.fact.eventTimeMs - b.fact.eventTimeMs ||
        rank(a) - rank(b) ||
        (a.fact.providerRef < b.fact.providerRef ? -1 : 1),
    )
  for (const entry of held) {
    if (entry.outcome !== 'held') continue
    const cause = causeOf(entry.fact)
    if (settle(work, entry) !== 'held') {
      settleAnomaly(work, `unknown_order:${cause}`, 'released')
      settleAnomaly(work, `refund_without_payment:${cause}`, 'released')
    } else if (work.order.anomalies.has(`unknown_order:${cause}`)) {
      settleAnomaly(work, `unknown_order:${cause}`, 'order_created')
      open(work, 'refund_without_payment', cause)
    }
  }
}

function settle(work: Work, entry: Known): Outcome {
  const outcome = decide(work, entry.fact)
  entry.outcome = outcome
  if (outcome === 'held' || entry.fact.eventType !== 'payment_succeeded') return outcome
  const { providerRef } = entry.fact
  const isItsRefund = ({ fact }: Known) => fact.eventType === 'refund_succeeded' && fact.paymentRef === providerRef
  retry(work, [...work.order.facts.values()].filter(isItsRefund))
  return outcome
}

function decide(work: Work, fact: Fact): Outcome {
  const { order } = work
  const { status } = order
  const cause = causeOf(fact)
  const anomaly = (kind: string, of = cause): Outcome => {
    open(work, kind, of)
    return 'anomaly'
  }
  if (status === 'awaited') return 'held'
  switch (fact.eventType) {
    case 'payment_succeeded':
      return pay(work, fact, anomaly)
    case 'payment_failed':
      return 'noted'
    case 'refund_succeeded':
      return refund(work, fact, anomaly)
    case 'refund_failed':
    case 'disputed':
    case 'bill_differs':
      return anomaly(fact.eventType)
    case 'provider_closed':
      if (status === 'paid') return anomaly('closed_after_payment')
      if (status !== 'pending') return 'noted'
      close(work, 'provider', cause)
      return 'applied'
    case 'shipment_completed':
      if (status === 'shipped') return 'noted'
      if (status !== 'paid') return anomaly(`shipped_${status === 'pending' ? 'unpaid' : status}`)
      order.status = 'shipped'
      return 'applied'
    case 'fulfillment_failed':
      return status === 'paid' || status === 'shipped' ? anomaly('fulfillment_failed') : 'noted'
    case 'goods_returned': {
      if (status !== 'shipped' && status !== 'refunded') return 'noted'
      const applied = (type: string) =>
        [...order.facts.values()].filter((known) => known.fact.eventType === type && known.outcome === 'applied').length
      if (applied('goods_returned') >= applied('shipment_completed')) return 'noted'
      emit(work, 'restore', cause)
      return 'applied'
    }
  }
}

type Anomaly = (kind: string, of?: string) => Outcome

function pay(work: Work, fact: Fact, anomaly: Anomaly): Outcome {
  const { order } = work
  if (fact.amountMinor !== order.amountMinor || fact.currency !== order.currency) return anomaly('amount_mismatch')
  if (order.status === 'paid' || order.status === 'shipped') return anomaly('double_payment')
  if (order.status === 'refunded') return anomaly('paid_after_refund')
  const isInTime = order.closedBy === 'expiry' && order.expiresAtMs !== null && fact.eventTimeMs < order.expiresAtMs
  if (order.status === 'closed' && !isInTime) return anomaly('paid_after_close')
  if (otherPaid(work) !== undefined) return anomaly('double_payment')
  beginPaid(work, fact, causeOf(fact))
  return 'applied'
}

function refund(work: Work, fact: Fact, anomaly: Anomaly): Outcome {
  const { order, reference } = work
  const paid = order.facts.get(`payment_succeeded/${fact.paymentRef}`)
  if (paid === undefined || paid.outcome === 'held') return 'held'
  const payment = paid.fact
  if (fact.currency !== payment.currency) return anomaly('amount_mismatch')
  const isCounted = ({ outcome }: Known) => outcome !== 'held'
  const before = refunded(order, payment, isCounted)
  const total = refunded(order, payment, (known) => isCounted(known) || known.fact === fact)
  const grown = total - before
  const over = (): Outcome => {
    const first = causeOf(payment)
    const settled = order.anomalies.get(`over_refund:${first}`)
    return anomaly('over_refund', typeof settled === 'string' ? causeOf(fact) : first)
  }
  const isAccepted = payment.providerRef === order.acceptedRef
  if (isAccepted && (order.status === 'paid' || order.status === 'shipped')) {
    if (total < payment.amountMinor) {
      if (grown === 0) return 'noted'
      emit(work, 'refund', causeOf(fact), grown)
      return 'applied'
    }
    const kinds = order.status === 'paid' ? ['cancel', 'restore', 'revoke'] : ['return', 'revoke']
    order.status = 'refunded'
    if (order.groupKey !== null && reference.groups.get(order.groupKey) === order.key)
      reference.groups.delete(order.groupKey)
    for (const kind of kinds) emit(work, kind, causeOf(fact), grown)
    return total > payment.amountMinor ? over() : 'applied'
  }
  if (isAccepted && order.status === 'refunded') return grown > 0 && total > payment.amountMinor ? over() : 'noted'
  if (grown === 0) return 'noted'
  const kinds = ['double_payment', 'paid_after_close', 'paid_after_refund', 'amount_mismatch']
  const identity = kinds.map((kind) => `${kind}:${causeOf(payment)}`).find((one) => order.anomalies.has(one))
  const settlement = identity === undefined ? undefined : order.anomalies.get(identity)
  if (identity !== undefined && settlement === null && total >= payment.amountMinor)
    settleAnomaly(work, identity, 'refunded')
  if (total > payment.amountMinor) return over()
  if (settlement === null) return total === payment.amountMinor ? 'applied' : 'noted'
  if (settlement?.startsWith('refund_outside') === true) return 'noted'
  return anomaly('refund_of_unaccepted_payment')
}
