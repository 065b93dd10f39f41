import { openAnomaly } from './anomaly.ts'
import { APPLIED, type DecideFact } from './cell.ts'
import { emit } from './emit.ts'
import type { Fact } from './model.ts'
import { NO_POLICIES, policyOf } from './policies.ts'
import { addRefund, emptyTally } from './refund-tally.ts'
import { tallyOf, type OrderWork, type Trigger } from './work.ts'

/** A payment of another amount or currency than the order's is an anomaly in every status; any other goes on to `then`. */
export const payment =
  (then: DecideFact): DecideFact =>
  (work, entry) => {
    const { fact, trigger } = entry
    const { amountMinor, currency } = work.order
    if (fact.amountMinor === amountMinor && fact.currency === currency) return then(work, entry)
    return openAnomaly(work, 'amount_mismatch', trigger, { fact })
  }

/** The payment moves the order, unless another order of its group is paid: then it is one payment too many. */
export const acceptPayment: DecideFact = (work, { fact, trigger }) => {
  const paidOrderId = paidInGroup(work)
  if (paidOrderId !== null) return openAnomaly(work, 'double_payment', trigger, { fact, paidOrderId })
  startPaidLife(work, fact, trigger)
  return APPLIED
}

/**
 * A late payment is as good as a timely one if the customer paid before the order expired: the delay is not theirs. The
 * merchant may allow more. Neither rests on when the payment's callback came.
 */
export const acceptIfInTime: DecideFact = (work, entry) => {
  const { fact, trigger } = entry
  if (isBeforeExpiry(work, fact) || isWithinPolicy(work, fact)) return acceptPayment(work, entry)
  return openAnomaly(work, 'paid_after_close', trigger, { fact })
}

const isBeforeExpiry = ({ order: { closedBy, expiresAtMs } }: OrderWork, { eventTimeMs }: Fact) =>
  closedBy === 'expiry' && expiresAtMs !== null && eventTimeMs < expiresAtMs

/** Not after the provider's own close: that a payment came nevertheless is a contradiction for a person. */
function isWithinPolicy({ batch, order }: OrderWork, { eventTimeMs }: Fact): boolean {
  const { closedBy, closedAtMs, merchant } = order
  const { acceptAfterCloseMs } = policyOf(batch.options.policies ?? NO_POLICIES, merchant)
  if (acceptAfterCloseMs === null || closedAtMs === null || closedBy === 'provider') return false
  return eventTimeMs <= closedAtMs + acceptAfterCloseMs
}

/** The other order of the group that is paid; null: none, so that this one may be. */
export function paidInGroup({ group, order }: OrderWork): number | null {
  const paid = group?.value.orderId ?? null
  return paid === order.id ? null : paid
}

/** From here on the order is paid by `accepted`; or refunded at once, in silence, if all of it went back already. */
export function startPaidLife(work: OrderWork, accepted: Fact, trigger: Trigger) {
  const { order, group } = work
  const { providerRef: paymentRef, amountMinor, currency } = accepted
  Object.assign(order, { acceptedRef: paymentRef, paidAtMs: accepted.eventTimeMs, closedBy: null, closedAtMs: null })
  work.expiryDone = true
  if (refundedWithHeld(work, accepted) >= BigInt(amountMinor)) {
    order.status = 'refunded'
    return
  }
  order.status = 'paid'
  if (group !== null) {
    group.value = { ...group.value, orderId: order.id }
    group.changed = true
  }
  for (const kind of ['ship', 'deduct', 'grant'] as const)
    emit(work, kind, trigger, { amountMinor, currency, paymentRef })
  // Not its held refunds, which follow by themselves: those of a payment that an operator accepts later.
  const refundedMinor = Number(tallyOf(work, accepted).totalMinor)
  if (refundedMinor > 0) emit(work, 'refund', trigger, { amountMinor: refundedMinor, currency, paymentRef })
}

function refundedWithHeld(work: OrderWork, accepted: Fact): bigint {
  const tally = emptyTally()
  for (const { fact } of work.refunds.get(accepted.providerRef) ?? [])
    if (fact.currency === accepted.currency) addRefund(tally, fact)
  return tally.totalMinor
}
