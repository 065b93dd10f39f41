import type { PlannedRefund, PlannedTransaction } from './planned.ts'

type DateOf = (atMs: number) => Date
const unixSeconds = (at: Date) => Math.floor(at.getTime() / 1_000)
const chargeId = (transactionId: string) => `ch_${transactionId.slice('pi_'.length)}`
/** Where the merchant's code put the order's number; refunds and disputes have it too, as that code set it there. */
const metadataOf = ({ outTradeNo }: PlannedTransaction) => ({ out_trade_no: outTradeNo })

/** A PaymentIntent. @param failed its last attempt was refused */
export function paymentIntentObject(transaction: PlannedTransaction, dateOf: DateOf, failed = false) {
  const { transactionId, amountMinor, currency, atMs } = transaction
  const error = { code: 'card_declined', decline_code: 'insufficient_funds', type: 'card_error' }
  return {
    ...{ id: transactionId, object: 'payment_intent', amount: amountMinor, currency: currency.toLowerCase() },
    amount_received: failed ? 0 : amountMinor,
    created: unixSeconds(dateOf(atMs)),
    last_payment_error: failed ? error : null,
    latest_charge: chargeId(transactionId),
    livemode: true,
    metadata: metadataOf(transaction),
    status: failed ? 'requires_payment_method' : 'succeeded',
  }
}

export function refundObject(transaction: PlannedTransaction, refund: PlannedRefund, dateOf: DateOf) {
  const { transactionId, currency } = transaction
  const failed = refund.state !== 'succeeded'
  return {
    ...{ id: refund.refundId, object: 'refund', amount: refund.amountMinor, currency: currency.toLowerCase() },
    ...{ charge: chargeId(transactionId), payment_intent: transactionId },
    created: unixSeconds(dateOf(refund.atMs)),
    ...(failed ? { failure_reason: 'expired_or_canceled_card' } : {}),
    metadata: { ...metadataOf(transaction), out_refund_no: refund.outRefundNo },
    reason: 'requested_by_customer',
    status: failed ? 'failed' : 'succeeded',
  }
}

/** A charge; `refundedMinor`: all that went back of it by then. */
export function chargeObject(transaction: PlannedTransaction, refundedMinor: number, dateOf: DateOf) {
  const { transactionId, amountMinor, currency, atMs } = transaction
  return {
    ...{ id: chargeId(transactionId), object: 'charge', amount: amountMinor, amount_captured: amountMinor },
    ...{ amount_refunded: refundedMinor, currency: currency.toLowerCase(), payment_intent: transactionId },
    ...{ captured: true, paid: true, refunded: refundedMinor === amountMinor, status: 'succeeded' },
    ...{ created: unixSeconds(dateOf(atMs)), livemode: true, metadata: metadataOf(transaction) },
  }
}

export function disputeObject(transaction: PlannedTransaction, dateOf: DateOf) {
  const { transactionId, amountMinor, currency, atMs, disputeId } = transaction
  return {
    ...{ id: disputeId, object: 'dispute', amount: amountMinor, currency: currency.toLowerCase() },
    ...{ charge: chargeId(transactionId), payment_intent: transactionId },
    ...{ created: unixSeconds(dateOf(atMs)), livemode: true, metadata: metadataOf(transaction) },
    ...{ reason: 'product_not_received', status: 'needs_response' },
  }
}
