import { causeOf, emit, raise, refundsOf, type Life, type LifeFact } from './life-state.ts'
import { refundedOf } from './refunded-of.ts'

/** A refund of a payment that is known. */
export function refund(life: Life, fact: LifeFact, payment: LifeFact) {
  if (fact.currency !== payment.currency) {
    raise(life, 'amount_mismatch', causeOf(fact))
    return
  }
  const settled = refundsOf(life, payment.providerRef, false)
  const [before, after] = [refundedOf(settled), refundedOf([...settled, fact])]
  const isOver = after > payment.amountMinor
  if (payment.providerRef !== life.paymentRef) {
    refundOther(life, fact, payment, before, after)
    return
  }
  if (life.status === 'refunded') {
    if (after > before && isOver) raise(life, 'over_refund', causeOf(payment))
    return
  }
  if (after < payment.amountMinor) {
    if (after > before) emit(life, 'refund', 'refund', 'refund')
    return
  }
  if (life.status === 'shipped') emit(life, 'return', 'revoke')
  else emit(life, 'cancel', 'restore', 'revoke')
  life.status = 'refunded'
  if (isOver) raise(life, 'over_refund', causeOf(payment))
}

/** Of a payment that never counted: its anomaly ends with the last of the money. */
function refundOther(life: Life, fact: LifeFact, payment: LifeFact, before: number, after: number) {
  if (after === before) return
  const anomaly = ['double_payment', 'paid_after_close', 'paid_after_refund', 'amount_mismatch']
    .map((kind) => `${kind}:${causeOf(payment)}`)
    .find((name) => life.anomalies.has(name))
  const wasOpen = anomaly !== undefined && life.anomalies.get(anomaly) === true
  if (wasOpen && after >= payment.amountMinor) life.anomalies.set(anomaly, false)
  if (after > payment.amountMinor) raise(life, 'over_refund', causeOf(payment))
  else if (!wasOpen) raise(life, 'refund_of_unaccepted_payment', causeOf(fact))
}
