import { anomalyOfPayment, openAnomaly, resolveAnomaly } from './anomaly.ts'
import { APPLIED, HELD, NOTED, type DecideFact, type FactResult } from './cell.ts'
import { emit } from './emit.ts'
import { factCause } from './identity.ts'
import type { EventKind, Fact } from './model.ts'
import { addRefund } from './refund-tally.ts'
import { anomalyIdentity, knownPayment, tallyOf, type FactEntry, type OrderWork } from './work.ts'

type DecideRefund = (work: OrderWork, entry: FactEntry, payment: Fact) => FactResult

/** A refund acts on its own payment: it waits for it, moves the order if that one was accepted, else settles it. */
export const refund =
  (ofAccepted: DecideRefund): DecideFact =>
  (work, entry) => {
    const { fact, trigger } = entry
    const payment = fact.paymentRef === null ? undefined : knownPayment(work, fact.paymentRef)
    if (payment === undefined) return HELD
    if (fact.currency !== payment.currency) return openAnomaly(work, 'amount_mismatch', trigger, { fact, payment })
    return (payment.providerRef === work.order.acceptedRef ? ofAccepted : refundOther)(work, entry, payment)
  }

/** Of the accepted payment of a paid order: a part is reported, the whole ends the order with `events`. */
export const refundAccepted =
  (events: readonly EventKind[]): DecideRefund =>
  (work, entry, payment) => {
    const { grownMinor, totalMinor, paidMinor } = record(work, entry, payment)
    const money = { amountMinor: grownMinor, currency: payment.currency, paymentRef: payment.providerRef }
    if (totalMinor >= paidMinor) {
      work.order.status = 'refunded'
      freeGroup(work)
      for (const kind of events) emit(work, kind, entry.trigger, money)
      return totalMinor > paidMinor ? overRefund(work, entry, payment) : APPLIED
    }
    if (grownMinor === 0) return NOTED // A cumulative figure had covered it.
    emit(work, 'refund', entry.trigger, money, JSON.stringify({ refundedMinor: Number(totalMinor) }))
    return APPLIED
  }

/** Of a payment that is refunded in full: more than was paid is an anomaly. */
export const refundRefunded: DecideRefund = (work, entry, payment) => {
  const { grownMinor, totalMinor, paidMinor } = record(work, entry, payment)
  return grownMinor > 0 && totalMinor > paidMinor ? overRefund(work, entry, payment) : NOTED
}

/** Of a payment that is an anomaly: in full, it settles it. A part leaves it open, as there is still money to return. */
export const refundOther: DecideRefund = (work, entry, payment) => {
  const { grownMinor, totalMinor, paidMinor } = record(work, entry, payment)
  if (grownMinor === 0) return NOTED
  const paymentAnomaly = anomalyOfPayment(work, factCause(payment))
  const wasOpen = paymentAnomaly?.resolution === null
  if (wasOpen && totalMinor >= paidMinor) resolveAnomaly(work, paymentAnomaly, 'refunded', null, entry.trigger)
  if (totalMinor > paidMinor) return overRefund(work, entry, payment)
  if (wasOpen) return totalMinor === paidMinor ? APPLIED : NOTED
  if (paymentAnomaly?.resolution === 'refund_outside') return NOTED // The operator said that it would come.
  return openAnomaly(work, 'refund_of_unaccepted_payment', entry.trigger, { fact: entry.fact, payment })
}

function record(work: OrderWork, { fact }: FactEntry, payment: Fact) {
  const tally = tallyOf(work, payment)
  // The total grows by no more than the refund's own figure, so it is a safe integer.
  const grownMinor = Number(addRefund(tally, fact))
  return { grownMinor, totalMinor: tally.totalMinor, paidMinor: BigInt(payment.amountMinor) }
}

/**
 * One per payment, whichever refund passed the amount: which one that is depends on arrival order. Only after an
 * operator has settled it does a further refund open one of its own.
 */
function overRefund(work: OrderWork, { fact, trigger }: FactEntry, payment: Fact): FactResult {
  const first = factCause(payment)
  const settled = work.anomalies.get(anomalyIdentity('over_refund', first))?.resolution
  const refundedMinor = String(tallyOf(work, payment).totalMinor)
  const isFurther = settled !== undefined && settled !== null
  return openAnomaly(work, 'over_refund', trigger, { fact, payment, refundedMinor }, isFurther ? trigger.cause : first)
}

function freeGroup({ group, order }: OrderWork) {
  if (group?.value.orderId !== order.id) return
  group.value = { ...group.value, orderId: null }
  group.changed = true
}
