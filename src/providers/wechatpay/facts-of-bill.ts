import { chinaTimeMs } from '../china-time.ts'
import { isOrderNumber } from '../limits.ts'
import { fenOfYuan } from '../yuan.ts'
import type { OrderFacts } from './facts-of-query.ts'
import { paymentFact } from './payment-fact.ts'
import type { BillRow } from './read-bill.ts'
import type { Recipient } from './recipient.ts'
import { refundFact } from './refund-fact.ts'

/**
 * The order and facts in one row of a trade bill (`ALL`, `SUCCESS` or `REFUND`; v2 and v3 have the same), or the title
 * of the column that is not as documented or names somebody else. A row is one payment or one refund, in yuan.
 * A refund that was on its way or had failed when the bill was made states no fact: its row is never mended, so the
 * refund query must say what became of it. Its time is when it was asked for.
 */
export function factsOfBillRow(row: BillRow, to: Pick<Recipient, 'mchid' | 'subMchids'>): OrderFacts | string {
  const outTradeNo = row['商户订单号']
  if (row['商户号'] !== to.mchid) return '商户号'
  const subMchid = row['特约商户号'] ?? ''
  // A merchant of its own has 0 there.
  if (to.subMchids.size > 0 ? !to.subMchids.has(subMchid) : subMchid !== '' && subMchid !== '0') return '特约商户号'
  if (!isOrderNumber(outTradeNo)) return '商户订单号'
  const atMs = chinaTimeMs(row['交易时间'])
  if (atMs === undefined) return '交易时间'
  switch (row['交易状态']) {
    case 'SUCCESS':
      return paymentOf(row, outTradeNo, atMs)
    case 'REFUND':
      return row['退款状态'] === 'SUCCESS' ? refundOf(row, outTradeNo, atMs) : { outTradeNo, facts: [] }
    case 'REVOKED':
      return { outTradeNo, facts: [] }
    default:
      return '交易状态'
  }
}

/** `订单金额` is the order's, as `amount.total` is; what is settled may be less by a coupon. */
function paymentOf(row: BillRow, outTradeNo: string, atMs: number): OrderFacts | string {
  const totalFen = fenOfYuan(row['订单金额'] ?? '')
  if (totalFen === undefined) return '订单金额'
  const fact = paymentFact(
    { transactionId: row['微信订单号'], totalFen, currency: row['货币种类'], successTime: undefined },
    atMs,
  )
  if (typeof fact !== 'string') return { outTradeNo, facts: [fact] }
  return COLUMNS[fact] ?? fact
}

/** `申请退款金额` is what was asked for, as `amount.refund` is; `退款金额` is what left the account. */
function refundOf(row: BillRow, outTradeNo: string, atMs: number): OrderFacts | string {
  const refundFen = fenOfYuan(row['申请退款金额'] ?? '')
  if (refundFen === undefined) return '申请退款金额'
  const fact = refundFact(
    {
      refundId: row['微信退款单号'],
      transactionId: row['微信订单号'],
      outRefundNo: row['商户退款单号'],
      status: 'SUCCESS',
      refundFen,
      currency: row['货币种类'],
      successTime: undefined,
    },
    atMs,
  )
  if (typeof fact !== 'string') return { outTradeNo, facts: [fact] }
  return COLUMNS[fact] ?? fact
}

/** Titles of the columns for the names that v3 gives the same fields. */
const COLUMNS: Readonly<Record<string, string>> = {
  transaction_id: '微信订单号',
  refund_id: '微信退款单号',
  amount: '订单金额',
  'amount.refund': '申请退款金额',
  'amount.currency': '货币种类',
}
