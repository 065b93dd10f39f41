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
 * profit-sharing movement comes under the same event type. Samples of refund notices lack the type of the resource, and
 * nothing else comes under theirs. What is not known is kept without a fact.
 * A payment or refund of which a field is not as documented is refused: it comes again for a day, so that a repair is
 * in time.
 */
export function normalize(notification: Notification, to: Recipient, now: Date): Verdict {
  const { eventType, originalType, resource } = notification
  if (eventType === 'TRANSACTION.SUCCESS' && originalType === 'transaction') {
    if (resource['sub_orders'] !== undefined) return normalizeCombined(notification, to, now)
    if (resource['trade_state'] === 'SUCCESS') return normalizePayment(notification, to, now)
  }
  if (REFUND.has(eventType) && (originalType === 'refund' || originalType === ''))
    return normalizeRefund(notification, to, now)
  if (hasNoEffect(eventType, originalType))
    return verified({ ...messageOf(notification), facts: [], instead: { kind: 'no_effect' } })
  const stranger = strangerField(resource, to, 'nobody')
  if (stranger !== undefined) return refused({ kind: 'wrong_recipient', field: stranger })
  return verified({ ...messageOf(notification), facts: [] })
}

const REFUND: ReadonlySet<string> = new Set(['REFUND.SUCCESS', 'REFUND.ABNORMAL', 'REFUND.CLOSED'])

function normalizePayment(notification: Notification, to: Recipient, now: Date): Verdict {
  const { resource } = notification
  const stranger = strangerField(resource, to, 'app')
  if (stranger !== undefined) return refused({ kind: 'wrong_recipient', field: stranger })
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
