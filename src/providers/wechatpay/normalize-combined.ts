import { chinaTimeMs } from '../china-time.ts'
import { isFields, type Fields } from '../fields.ts'
import { isOrderNumber, traceable } from '../limits.ts'
import type { Verdict, VerifiedMessage } from '../provider.ts'
import { malformed, refused, verified } from '../refuse.ts'
import type { Notification } from './open-resource.ts'
import { paymentFact } from './payment-fact.ts'
import { strangerInCombined, type Recipient } from './recipient.ts'
import { CLOSED, OPEN } from './trade-states.ts'

/** WeChat Pay takes at most 50 orders in one combined payment. */
const SUB_ORDERS_MAX = 50

/**
 * A combined payment: one message per order in it, each with its own transaction; all or none are taken. In partner
 * mode the partner combines, and each order names its sub-merchant.
 */
export function normalizeCombined(notification: Notification, to: Recipient, now: Date): Verdict {
  const { combine_mchid: mchid, combine_appid: appid, sub_orders: orders } = notification.resource
  if (mchid !== to.mchid) return refused({ kind: 'wrong_recipient', field: 'combine_mchid' })
  if (typeof appid !== 'string' || !to.appids.has(appid))
    return refused({ kind: 'wrong_recipient', field: 'combine_appid' })
  if (!Array.isArray(orders) || orders.length > SUB_ORDERS_MAX || !orders.every(isFields))
    return malformed('sub_orders')

  const otherwiseMs = chinaTimeMs(notification.createTime) ?? now.getTime()
  const messages: VerifiedMessage[] = []
  const numbers = new Set<string | null>()
  for (const order of orders) {
    const stranger = strangerInCombined(order, to)
    if (stranger !== undefined) return refused({ kind: 'wrong_recipient', field: `sub_orders.${stranger}` })
    const message = messageOf(order, notification, otherwiseMs)
    if (typeof message === 'string') return malformed(`sub_orders.${message}`)
    messages.push(message)
    numbers.add(message.outTradeNo)
  }
  const [first, ...others] = messages
  // One order twice would be two records that say different things of it.
  if (first === undefined || numbers.size < messages.length) return malformed('sub_orders')
  return verified(first, ...others)
}

/** One order's message, or the name of the field that is not as documented. */
function messageOf(order: Fields, { id, eventType }: Notification, otherwiseMs: number): VerifiedMessage | string {
  const { out_trade_no: outTradeNo, amount } = order
  if (!isOrderNumber(outTradeNo)) return 'out_trade_no'
  const message = { outTradeNo, messageType: traceable(eventType), messageId: traceable(id) }
  const { trade_state: state } = order
  // Of one that is certainly not paid nothing is lost, and the others need not wait for it.
  if (OPEN.has(state) || state === CLOSED) return { ...message, facts: [] }
  if (state !== 'SUCCESS') return 'trade_state'
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
