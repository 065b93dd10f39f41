import type { Fact } from '../../orders/model.ts'
import { isFields } from '../fields.ts'
import { readDispute } from './facts-of-dispute.ts'
import { readFailedPayment, readPayment } from './facts-of-payment.ts'
import { readRefund, readRefundedTotal } from './facts-of-refund.ts'
import type { Reading } from './reading.ts'

/** What an object proves (nothing yet: none), or the name of the field that is not as documented. */
export type FactsOfQuery = readonly Fact[] | string

/**
 * The answer of `GET /v1/payment_intents/:id`. Ask with `expand[]=latest_charge`, which knows when it was paid.
 * @param at Stripe's time of the answer (its `Date` header)
 */
export function factsOfPaymentIntent(intent: unknown, at: Date): FactsOfQuery {
  if (!isFields(intent) || intent['object'] !== 'payment_intent') return 'object'
  if (intent['status'] === 'succeeded') return listed(readPayment(intent, at.getTime()))
  const hasFailed = intent['status'] === 'requires_payment_method' && isFields(intent['last_payment_error'])
  return hasFailed ? listed(readFailedPayment(intent, at.getTime())) : []
}

/** The answer of `GET /v1/refunds/:id`, or one of a list. */
export function factsOfRefund(refund: unknown, at: Date): FactsOfQuery {
  if (!isFields(refund) || refund['object'] !== 'refund') return 'object'
  return listed(readRefund(refund, at.getTime()))
}

/** The answer of `GET /v1/charges/:id`, or an expanded `latest_charge`: what was refunded of it altogether. */
export function factsOfCharge(charge: unknown, at: Date): FactsOfQuery {
  if (!isFields(charge) || charge['object'] !== 'charge') return 'object'
  return listed(readRefundedTotal(charge, at.getTime()))
}

/** The answer of `GET /v1/disputes/:id`. */
export function factsOfDispute(dispute: unknown): FactsOfQuery {
  if (!isFields(dispute) || dispute['object'] !== 'dispute') return 'object'
  return listed(readDispute(dispute))
}

const listed = (reading: Reading): FactsOfQuery => {
  if (reading.kind === 'malformed') return reading.field
  return reading.kind === 'fact' ? [reading.fact] : []
}
