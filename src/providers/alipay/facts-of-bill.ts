import type { Fact } from '../../orders/model.ts'
import { chinaTimeMs } from '../china-time.ts'
import { detailOf } from '../detail.ts'
import { isOrderNumber } from '../limits.ts'
import { fenOfYuan } from '../yuan.ts'
import { isRequestNo, isTradeNo, oneRefund, paymentFact } from './trade-facts.ts'

/** Cells by the column's title, the unit behind it (`（元）`) included or not. */
export type BillRow = Readonly<Record<string, string>>

/**
 * The order and facts in one row of the trade bill's details (业务明细), or the title of the column that is not as
 * documented. Money is in yuan, a refund's negative; cells are padded with tabs; times are Beijing's. A row of another
 * kind than 交易 and 退款 states no fact.
 */
export function factsOfBillRow(row: BillRow): { outTradeNo: string; facts: readonly Fact[] } | string {
  const cell = (title: string) => (row[title] ?? row[`${title}（元）`] ?? row[`${title}(元)`] ?? '').trim()
  const outTradeNo = cell('商户订单号')
  if (!isOrderNumber(outTradeNo)) return '商户订单号'
  const isRefund = cell('业务类型') === '退款'
  if (!isRefund && cell('业务类型') !== '交易') return { outTradeNo, facts: [] }

  const tradeNo = cell('支付宝交易号')
  if (!isTradeNo(tradeNo)) return '支付宝交易号'
  const amount = cell('订单金额')
  const amountMinor = isRefund ? refundedFen(amount) : fenOfYuan(amount)
  if (amountMinor === undefined) return '订单金额'
  const eventTimeMs = chinaTimeMs(cell('完成时间'))
  if (eventTimeMs === undefined) return '完成时间'
  if (!isRefund) return { outTradeNo, facts: [paymentFact(tradeNo, amountMinor, eventTimeMs)] }
  // A refund that was asked for without a number goes by the order's.
  const outRequestNo = cell('退款批次号/请求号') || outTradeNo
  if (!isRequestNo(tradeNo, outRequestNo)) return '退款批次号/请求号'
  const detail = detailOf(`out_request_no ${outRequestNo}`, cell('备注'))
  return { outTradeNo, facts: [oneRefund(tradeNo, outRequestNo, { amountMinor, eventTimeMs, detail })] }
}

const refundedFen = (amount: string) => (amount.startsWith('-') ? fenOfYuan(amount.slice(1)) || undefined : undefined)
