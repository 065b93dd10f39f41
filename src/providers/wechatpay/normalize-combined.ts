import { chinaTimeMs } from '../china-time.ts'
import { isFields, type Fields } from '../fields.ts'
import { isOrderNumber, traceable } from '../limits.ts'
import type { Verdict, VerifiedMessage } from '../provider.ts'
import { malformed, refused, verified } from '../refuse.ts'
import type { WechatpayConfig } from './config.ts'
import type { Notification } from './open-resource.ts'
import { paymentFact } from './payment-fact.ts'

/** WeChat Pay takes at most 50 orders in one combined payment. */
const SUB_ORDERS_MAX = 50

/** A combined payment: one message per order in it, each with its own transaction; all or none are taken. */
export function normalizeCombined(notification: Notification, config: WechatpayConfig, now: Date): Verdict {
  const { combine_mchid: mchid, combine_appid: appid, sub_orders: orders } = notification.resource
  if (mchid !== config.mchid) return refused({ kind: 'wrong_recipient', field: 'combine_mchid' })
  if (typeof appid !== 'string' || !config.appids.has(appid))
    return refused({ kind: 'wrong_recipient', field: 'combine_appid' })
  if (!Array.isArray(orders) || orders.length > SUB_ORDERS_MAX || !orders.every(isFields))
    return malformed('sub_orders')

  const otherwiseMs = chinaTimeMs(notification.createTime) ?? now.getTime()
  const messages: VerifiedMessage[] = []
  for (const order of orders) {
    if (order['mchid'] !== config.mchid) return refused({ kind: 'wrong_recipient', field: 'sub_orders.mchid' })
    const message = messageOf(order, notification, otherwiseMs)
    if (typeof message === 'string') return malformed(`sub_orders.${message}`)
    messages.push(message)
  }
  const [first, ...others] = messages
  return first === undefined ? malformed('sub_orders') : verified(first, ...others)
}

/** One order's message, or the name of the field that is not as documented. */
function messageOf(order: Fields, { id, eventType }: Notification, otherwiseMs: number): VerifiedMessage | string {
  const { out_trade_no: outTradeNo, amount } = order
  if (!isOrderNumber(outTradeNo)) return 'out_trade_no'
  const message = { outTradeNo, messageType: traceable(eventType), messageId: traceable(id) }
  if (order['trade_state'] !== 'SUCCESS') return { ...message, facts: [] }
  if (!isFields(amount)) return 'amount'
  const fact = paymentFact(
    {
      transactionId: order['transaction_id'],
      totalFen: amount['total_amount'],
      currency: amount['currency'],
      successTime: order['success_time'],
    },
    otherwiseMs,
  )
  return typeof fact === 'string' ? fact : { ...message, facts: [fact] }
}
