import { chinaTimeMs } from '../china-time.ts'
import { isFields } from '../fields.ts'
import type { Verdict } from '../provider.ts'
import { malformed, refused, verified } from '../refuse.ts'
import { messageOf } from './message-of.ts'
import type { Notification } from './open-resource.ts'
import { strangerField, type Recipient } from './recipient.ts'
import { isRefundStatus, refundFact } from './refund-fact.ts'

/**
 * The notice of a refund. Its field is `refund_status`, where the query's is `status`: who reads the other one finds
 * nothing, so nothing is taken for a success here that does not say so twice, in the kind of the event and in its field.
 * @see wechatpay-java#213
 */
export function normalizeRefund(notification: Notification, to: Recipient, now: Date): Verdict {
  const { resource, eventType } = notification
  const stranger = strangerField(resource, to, 'merchant')
  if (stranger !== undefined) return refused({ kind: 'wrong_recipient', field: stranger })
  const { refund_status: status, amount } = resource
  if (!isRefundStatus(status)) return malformed('refund_status')
  if (eventType !== `REFUND.${status}`) return malformed('refund_status', `${status} under another event_type`)
  const message = messageOf(notification)
  if (message.outTradeNo === null) return malformed('out_trade_no')
  if (!isFields(amount)) return malformed('amount')
  const fact = refundFact(
    {
      refundId: resource['refund_id'],
      transactionId: resource['transaction_id'],
      outRefundNo: resource['out_refund_no'],
      status,
      refundFen: amount['refund'],
      currency: amount['currency'],
      successTime: resource['success_time'],
    },
    chinaTimeMs(notification.createTime) ?? now.getTime(),
  )
  return typeof fact === 'string' ? malformed(fact) : verified({ ...message, facts: [fact] })
}
