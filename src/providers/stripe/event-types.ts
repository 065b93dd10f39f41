import type { Fields } from '../fields.ts'
import { readDispute } from './facts-of-dispute.ts'
import { readFailedPayment, readPayment } from './facts-of-payment.ts'
import { readRefund, readRefundedTotal } from './facts-of-refund.ts'
import type { Reading } from './reading.ts'

interface KnownType {
  /** The kind of object in it. */
  readonly object: string
  readonly read: (object: Fields, eventCreatedMs: number) => Reading
}

const refund: KnownType = { object: 'refund', read: readRefund }

/** Events that may prove something about an order. */
export const KNOWN: ReadonlyMap<string, KnownType> = new Map([
  ['payment_intent.succeeded', { object: 'payment_intent', read: readPayment }],
  ['payment_intent.payment_failed', { object: 'payment_intent', read: readFailedPayment }],
  ['refund.created', refund],
  ['refund.updated', refund],
  ['refund.failed', refund],
  // The older name of refund.updated, for some payment methods.
  ['charge.refund.updated', refund],
  ['charge.refunded', { object: 'charge', read: readRefundedTotal }],
  ['charge.dispute.created', { object: 'dispute', read: readDispute }],
])

/**
 * Steps on the way of a payment, whose end comes as an event of its own. `canceled` too: an order may be paid by another
 * intent, so that the end of one does not close it.
 */
export const UNCHANGING: ReadonlySet<string> = new Set([
  'payment_intent.created',
  'payment_intent.requires_action',
  'payment_intent.processing',
  'payment_intent.amount_capturable_updated',
  'payment_intent.partially_funded',
  'payment_intent.canceled',
  'charge.pending',
  'charge.succeeded',
  'charge.captured',
  'charge.updated',
  'charge.failed',
])
