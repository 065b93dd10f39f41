import { e5OfYuan, yuanOfE5 } from '../bill-sums.ts'
import { yuanOfFen } from '../yuan.ts'
import type { PaidOrder, Party, RefundOrder } from './compose.ts'
import { beijing } from './sign.ts'

const TITLES =
  '交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,' +
  '应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,' +
  '手续费,费率,订单金额,申请退款金额,费率备注'
const TOTALS = '总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额'

/** Writes a bill line by line, so that one of any length can be made; every piece has its line end. */
export interface BillWriter {
  readonly head: () => string
  /** @param fee what the provider keeps, in yuan with up to five decimals */
  readonly payment: (order: PaidOrder, fee?: string) => string
  readonly refund: (refund: RefundOrder) => string
  /** The totals of all that was written. */
  readonly foot: () => string
}

export function createBillWriter(party: Party): BillWriter {
  let [count, paidFen, refundedFen, feesE5] = [0, 0, 0, 0n]
  return {
    head: () => `\ufeff${TITLES}\r\n`,
    payment: (order, fee = '0.00000') => {
      count += 1
      paidFen += order.totalFen
      feesE5 += BigInt(e5OfYuan(fee) ?? 0)
      return line(paymentCells(party, order, fee))
    },
    refund: (refund) => {
      count += 1
      refundedFen += refund.refundFen
      return line(refundCells(party, refund))
    },
    foot: () => {
      const [paid, refunded] = [yuanOfFen(paidFen), yuanOfFen(refundedFen)]
      const cells = [`${count}.0`, paid, refunded, '0.00', yuanOfE5(feesE5), paid, refunded]
      return `${TOTALS}\r\n${line(cells)}`
    },
  }
}

/** A day's trade bill (`ALL`) as WeChat Pay makes it: a byte order mark, four parts, money in yuan. */
export function composeBill(party: Party, payments: readonly PaidOrder[], refunds: readonly RefundOrder[]): string {
  const writer = createBillWriter(party)
  const rows = [...payments.map((order) => writer.payment(order)), ...refunds.map((refund) => writer.refund(refund))]
  return [writer.head(), ...rows, writer.foot()].join('')
}

const line = (cells: readonly string[]) => `${cells.map((cell) => `\`${cell}`).join(',')}\r\n`

const paymentCells = (party: Party, order: PaidOrder, fee: string) => {
  const paid = yuanOfFen(order.totalFen)
  return [
    ...[billTime(order.paidAt), ...who(party), order.transactionId, order.outTradeNo, 'o-synthetic-payer'],
    ...['JSAPI', 'SUCCESS', 'OTHERS', 'CNY', paid, '0.00', '0', '0', '0.00', '0.00', '', ''],
    ...['synthetic goods', '', fee, '0.60%', paid, '0.00', ''],
  ]
}

const refundCells = (party: Party, refund: RefundOrder) => {
  const given = yuanOfFen(refund.refundFen)
  return [
    ...[billTime(refund.at), ...who(party), refund.transactionId, refund.outTradeNo, 'o-synthetic-payer'],
    ...['JSAPI', 'REFUND', 'OTHERS', 'CNY', '0.00', '0.00', refund.refundId, refund.outRefundNo, given, '0.00'],
    ...['ORIGINAL', refund.status, 'synthetic goods', '', '0.00000', '0.60%', '0.00', given, ''],
  ]
}

/** App, merchant number, sub-merchant number, device. */
const who = ({ mchid, appid = '', partner }: Party) =>
  partner === undefined ? [appid, mchid, '0', ''] : [partner.spAppid, partner.spMchid, mchid, '']

const billTime = (at: Date) => beijing(at).slice(0, 19).replace('T', ' ')
