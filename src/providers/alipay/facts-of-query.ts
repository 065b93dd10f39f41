import type { Fact } from '../../orders/model.ts'
import { chinaTimeMs } from '../china-time.ts'
import { detailOf } from '../detail.ts'
import type { Fields } from '../fields.ts'
import { fenOfYuan } from '../yuan.ts'
import { isRequestNo, isTradeNo, oneRefund, paymentFact, refundedSoFar } from './trade-facts.ts'

/** Nobody has scanned or confirmed yet: most trades are only made then. */
const NO_TRADE = 'ACQ.TRADE_NOT_EXIST'

/** Above nothing only where somebody has paid; 0.00 proves nothing, as some products always say that. */
const OF_A_PAYMENT = ['receipt_amount', 'buyer_pay_amount', 'invoice_amount', 'point_amount', 'refund_fee']

/**
 * The facts in a verified answer of `alipay.trade.query` (the object under `alipay_trade_query_response`), or the name
 * of the field that is not as documented. None: not paid yet, or nothing certain. Refunds in part are not in it: ask
 * `factsOfRefundQuery`.
 * `TRADE_CLOSED` is what a trade that was refunded in full is, and one that nobody paid. Only `send_pay_date` tells the
 * one from the other, and may be missing: so that an answer without it never says that the trade was closed unpaid. The
 * notice does, or the order ends by its own time.
 * @param now when it was asked: the time of a fact whose own the answer does not say
 */
export function factsOfPaymentQuery(answer: Fields, now: Date): readonly Fact[] | string {
  if (answer['code'] !== '10000') return answer['sub_code'] === NO_TRADE ? [] : 'code'
  const { trade_status: status, trade_no: tradeNo, trans_currency: currency = 'CNY' } = answer
  if (status === 'WAIT_BUYER_PAY') return []
  if (!isTradeNo(tradeNo)) return 'trade_no'
  if (currency !== 'CNY') return 'trans_currency'
  const paidAt = answer['send_pay_date']
  if (status === 'TRADE_CLOSED' && !paidAt)
    return OF_A_PAYMENT.some((name) => (fenOf(answer[name]) ?? 0) > 0) ? 'send_pay_date' : []
  if (status !== 'TRADE_SUCCESS' && status !== 'TRADE_FINISHED' && status !== 'TRADE_CLOSED') return 'trade_status'

  const totalFen = fenOf(answer['total_amount'])
  if (totalFen === undefined) return 'total_amount'
  const payment = paymentFact(tradeNo, totalFen, chinaTimeMs(paidAt) ?? now.getTime())
  if (status !== 'TRADE_CLOSED') return [payment]
  // Closed after it was paid: refunded in full. No refund can follow, so that none is later than this figure.
  return [refundedSoFar(tradeNo, totalFen, now.getTime(), status), payment]
}

/**
 * The fact in a verified answer of `alipay.trade.fastpay.refund.query`, or the name of the field that is not as
 * documented. None: Alipay does not know the refund, or it has not succeeded.
 * It must be asked with `"query_options": ["gmt_refund_pay"]`: without its time a refund cannot be set against the
 * figures of the notices.
 */
export function factsOfRefundQuery(answer: Fields): readonly Fact[] | string {
  if (answer['code'] !== '10000') return answer['sub_code'] === NO_TRADE ? [] : 'code'
  // An answer without a status is the documented way to say that there is no such refund.
  if (!answer['refund_status']) return []
  if (answer['refund_status'] !== 'REFUND_SUCCESS') return 'refund_status'
  const { trade_no: tradeNo, out_request_no: outRequestNo } = answer
  if (!isTradeNo(tradeNo)) return 'trade_no'
  if (!isRequestNo(tradeNo, outRequestNo)) return 'out_request_no'
  const amountMinor = fenOf(answer['refund_amount'])
  if (!amountMinor) return 'refund_amount'
  const eventTimeMs = chinaTimeMs(answer['gmt_refund_pay'])
  if (eventTimeMs === undefined) return 'gmt_refund_pay'
  const reason = answer['refund_reason']
  const detail = detailOf(`out_request_no ${outRequestNo}`, typeof reason === 'string' ? reason : undefined)
  return [oneRefund(tradeNo, outRequestNo, { amountMinor, eventTimeMs, detail })]
}

const fenOf = (value: unknown) => (typeof value === 'string' ? fenOfYuan(value) : undefined)
