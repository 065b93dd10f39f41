import { chinaTimeMs } from '../china-time.ts'
import { isFields } from '../fields.ts'
import type { Verdict } from '../provider.ts'
import { malformed, refused, verified } from '../refuse.ts'
import { messageOf } from './message-of.ts'
import { hasNoEffect } from './no-effect.ts'
import { normalizeCombined } from './normalize-combined.ts'
import { normalizeRefund } from './normalize-refund.ts'
import type { Notification } from './open-resource.ts'
import { paymentFact } from './payment-fact.ts'
import { strangerField, type Recipient } from './recipient.ts'

/**
 * What a decrypted notification says about the order. Only `TRANSACTION.SUCCESS` of a `transaction` is a payment: a
 * profit-sharing movement comes under the same event type. Samples lack the type of the resource: what its fields show
 * to be a payment is one then, and nothing else comes under the event types of a refund. What is not known is kept
 * without a fact.
 * A payment or refund of which a field is not as documented is refused: it comes again for a day, so that a repair is
 * in time.
 */
export function normalize(notification: Notification, to: Recipient, now: Date): Verdict {
  const { eventType, originalType, resource } = notification
  if (eventType === 'TRANSACTION.SUCCESS' && isPayment(notification))
    return resource['sub_orders'] === undefined
      ? normalizePayment(notification, to, now)
      : normalizeCombined(notification, to, now)
  if (REFUND.has(eventType) && (originalType === 'refund' || originalType === ''))
    return normalizeRefund(notification, to, now)
  if (hasNoEffect(eventType, originalType))
    return verified({ ...messageOf(notification), facts: [], instead: { kind: 'no_effect' } })
  const stranger = strangerField(resource, to, 'nobody')
  if (stranger !== undefined) return refused({ kind: 'wrong_recipient', field: stranger })
  return verified({ ...messageOf(notification), facts: [] })
}

const REFUND: ReadonlySet<string> = new Set(['REFUND.SUCCESS', 'REFUND.ABNORMAL', 'REFUND.CLOSED'])

/** A profit-sharing movement has none of these, and its `transaction_id` beside a `receiver`. */
const OF_A_PAYMENT = ['trade_state', 'amount', 'out_trade_no', 'sub_orders']

function isPayment({ originalType, resource }: Notification): boolean {
  if (originalType !== '') return originalType === 'transaction'
  const { transaction_id: transactionId, receiver } = resource
  return OF_A_PAYMENT.some((name) => resource[name] !== undefined) || (transactionId !== undefined && !receiver)
}

function normalizePayment(notification: Notification, to: Recipient, now: Date): Verdict {
  const { resource } = notification
  const stranger = strangerField(resource, to, 'app')
  if (stranger !== undefined) return refused({ kind: 'wrong_recipient', field: stranger })
  // Under an event of this name any other state, or none, is a contradiction, as it is in a refund.
  if (resource['trade_state'] !== 'SUCCESS') return malformed('trade_state')
  const message = messageOf(notification)
  if (message.outTradeNo === null) return malformed('out_trade_no')
  const { amount } = resource
  if (!isFields(amount)) return malformed('amount')
  const fact = paymentFact(
    {
      transactionId: resource['transaction_id'],
      totalFen: amount['total'],
      currency: amount['currency'],
      successTime: resource['success_time'],
    },
    chinaTimeMs(notification.createTime) ?? now.getTime(),
  )
  return typeof fact === 'string' ? malformed(fact) : verified({ ...message, facts: [fact] })
}
