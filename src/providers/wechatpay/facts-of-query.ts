import type { Fact } from '../../orders/model.ts'
import { isFields, type Fields } from '../fields.ts'
import { isOrderNumber } from '../limits.ts'
import { closedFact } from './closed-fact.ts'
import { paymentFact } from './payment-fact.ts'
import { strangerField, strangerInCombined, type Recipient } from './recipient.ts'
import { isRefundStatus, refundFact } from './refund-fact.ts'
import { CLOSED, OPEN, PAID } from './trade-states.ts'

/** One order of an answer or a bill, with what is known of it. */
export interface OrderFacts {
  readonly outTradeNo: string
  readonly facts: readonly Fact[]
}

/**
 * The facts in a verified answer of the order query, a partner's too, or the name of the field that is not as
 * documented or names somebody else. None: not paid (yet).
 * @param now when it was asked: the time of a fact whose own the answer does not say
 */
export function factsOfPaymentQuery(answer: Fields, to: Recipient, now: Date): readonly Fact[] | string {
  const { out_trade_no: outTradeNo, amount } = answer
  const stranger = strangerField(answer, to, 'app')
  if (stranger !== undefined) return stranger
  if (!isOrderNumber(outTradeNo)) return 'out_trade_no'
  const total = isFields(amount) ? { totalFen: amount['total'], currency: amount['currency'] } : undefined
  return factsOfState(answer, outTradeNo, total, now)
}

/** The same of the combined query: every order in it, or the name of a field of one of them. */
export function factsOfCombinedQuery(answer: Fields, to: Recipient, now: Date): readonly OrderFacts[] | string {
  const { combine_mchid: mchid, sub_orders: orders } = answer
  if (mchid !== to.mchid) return 'combine_mchid'
  if (!Array.isArray(orders) || orders.length === 0 || !orders.every(isFields)) return 'sub_orders'
  const found: OrderFacts[] = []
  for (const order of orders) {
    const { out_trade_no: outTradeNo, amount } = order
    const stranger = strangerInCombined(order, to)
    if (stranger !== undefined) return `sub_orders.${stranger}`
    if (!isOrderNumber(outTradeNo)) return 'sub_orders.out_trade_no'
    const total = isFields(amount) ? { totalFen: amount['total_amount'], currency: amount['currency'] } : undefined
    const facts = factsOfState(order, outTradeNo, total, now)
    if (typeof facts === 'string') return `sub_orders.${facts}`
    found.push({ outTradeNo, facts })
  }
  return found
}

/**
 * The fact in a verified answer of the refund query, or the name of the field that is not as documented. None: the
 * refund is on its way. The answer names no merchant: it is ours because we asked.
 * @param now the time of a fact whose own the answer does not say
 */
export function factsOfRefundQuery(answer: Fields, now: Date): readonly Fact[] | string {
  const { status, amount } = answer
  if (status === 'PROCESSING') return []
  if (!isRefundStatus(status)) return 'status'
  if (!isFields(amount)) return 'amount'
  const fact = refundFact(
    {
      refundId: answer['refund_id'],
      transactionId: answer['transaction_id'],
      outRefundNo: answer['out_refund_no'],
      status,
      refundFen: amount['refund'],
      currency: amount['currency'],
      successTime: answer['success_time'],
    },
    now.getTime(),
  )
  return typeof fact === 'string' ? fact : [fact]
}

function factsOfState(
  order: Fields,
  outTradeNo: string,
  total: { readonly totalFen: unknown; readonly currency: unknown } | undefined,
  now: Date,
): readonly Fact[] | string {
  const { trade_state: state, transaction_id: transactionId, success_time: successTime } = order
  if (OPEN.has(state)) return []
  if (state === CLOSED) return [closedFact(outTradeNo, now.getTime())]
  if (!PAID.has(state)) return 'trade_state'
  if (total === undefined) return 'amount'
  const fact = paymentFact({ transactionId, successTime, ...total }, now.getTime())
  return typeof fact === 'string' ? fact : [fact]
}
