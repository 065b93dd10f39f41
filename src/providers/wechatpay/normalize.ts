import { chinaTimeMs } from '../china-time.ts'
import { isFields, type Fields } from '../fields.ts'
import { isOrderNumber, traceable } from '../limits.ts'
import type { Verdict, VerifiedMessage } from '../provider.ts'
import { malformed, refused, verified, type Refused } from '../refuse.ts'
import type { WechatpayConfig } from './config.ts'
import { normalizeCombined } from './normalize-combined.ts'
import type { Notification } from './open-resource.ts'
import { paymentFact } from './payment-fact.ts'

/**
 * What a decrypted notification says about the order. Only `TRANSACTION.SUCCESS` of a `transaction` is a payment: a
 * profit-sharing movement comes under the same event type. Every other kind is kept without a fact.
 * A payment of which a field is not as documented is refused: it comes again for a day, so that a repair is in time.
 */
export function normalize(notification: Notification, config: WechatpayConfig, now: Date): Verdict {
  const { eventType, originalType, resource } = notification
  const { out_trade_no: outTradeNo, amount } = resource
  const isTransaction = eventType === 'TRANSACTION.SUCCESS' && originalType === 'transaction'
  if (isTransaction && resource['sub_orders'] !== undefined) return normalizeCombined(notification, config, now)

  const isPayment = isTransaction && resource['trade_state'] === 'SUCCESS'
  const stranger = strangerIn(resource, config, isPayment)
  if (stranger !== undefined) return stranger
  const message: Omit<VerifiedMessage, 'facts'> = {
    outTradeNo: isOrderNumber(outTradeNo) ? outTradeNo : null,
    messageType: traceable(eventType),
    messageId: traceable(notification.id),
  }
  if (!isPayment) return verified({ ...message, facts: [] })
  if (message.outTradeNo === null) return malformed('out_trade_no')
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

/**
 * Refuses a message to somebody else: WeChat Pay signs for every merchant with one key, and one of our merchants may
 * share the APIv3 key with another. A payment must name both; a refund notice names no app, a partner's no `mchid`.
 */
function strangerIn(resource: Fields, { mchid, appids }: WechatpayConfig, isPayment: boolean): Refused | undefined {
  const { mchid: toMchid, appid: toAppid } = resource
  if (toMchid === undefined ? isPayment : toMchid !== mchid) return refused({ kind: 'wrong_recipient', field: 'mchid' })
  if (toAppid === undefined ? isPayment : typeof toAppid !== 'string' || !appids.has(toAppid))
    return refused({ kind: 'wrong_recipient', field: 'appid' })
  return undefined
}
