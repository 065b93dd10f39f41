import { inBeijing } from '../china-time.ts'
import { yuanOfFen } from '../yuan.ts'
import { encodeText } from './encode-text.ts'
import { DETAILS } from './read-bill.ts'
import { alipayTime } from './sign.ts'

export interface BilledTrade {
  readonly tradeNo: string
  readonly outTradeNo: string
  readonly totalFen: number
  readonly createdAt: Date
  readonly paidAt: Date
}
export interface BilledRefund {
  readonly tradeNo: string
  readonly outTradeNo: string
  readonly outRequestNo: string
  readonly refundFen: number
  readonly createdAt: Date
  readonly refundedAt: Date
}

const TITLES =
  '支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,门店编号,门店名称,操作员,终端号,对方账户,订单金额（元）,' +
  '商家实收（元）,支付宝红包（元）,集分宝（元）,支付宝优惠（元）,商家优惠（元）,券核销金额（元）,券名称,' +
  '商家红包消费金额（元）,卡消费金额（元）,退款批次号/请求号,服务费（元）,分润（元）,备注'
const rule = (what: string) => `#${'-'.repeat(41)}${what}${'-'.repeat(40)}`
const LINE_END = '\r\n'

/** Writes the details (业务明细) of a day's trade bill, in GBK, line by line; every piece has its line end. */
export function createBillWriter(sellerId: string, day: Date) {
  const paid = { count: 0, fen: 0 }
  const refunded = { count: 0, fen: 0 }
  const write = (...lines: readonly string[]) => encodeText(lines.map((text) => text + LINE_END).join(''), 'gbk')
  return {
    head: () => {
      const until = new Date(day.getTime() + 86_400_000)
      return write(
        ...[DETAILS, `#账号：[${sellerId}0156]`, `#起始日期：[${timeOf(day)}]   终止日期：[${timeOf(until)}]`],
        ...[rule('业务明细列表'), TITLES],
      )
    },
    /** @param fee in yuan; negative, as the seller pays it */
    trade: ({ tradeNo, outTradeNo, totalFen, createdAt, paidAt }: BilledTrade, fee = '0.00') => {
      paid.count += 1
      paid.fen += totalFen
      const times = [alipayTime(createdAt), alipayTime(paidAt)]
      return write(rowOf(tradeNo, outTradeNo, '交易', times, yuanOfFen(totalFen), '', fee))
    },
    refund: ({ tradeNo, outTradeNo, outRequestNo, refundFen, createdAt, refundedAt }: BilledRefund) => {
      refunded.count += 1
      refunded.fen += refundFen
      const times = [alipayTime(createdAt), alipayTime(refundedAt)]
      return write(rowOf(tradeNo, outTradeNo, '退款', times, `-${yuanOfFen(refundFen)}`, outRequestNo, '0.00'))
    },
    foot: (now: Date) => {
      const back = refunded.fen === 0 ? '0.00' : `-${yuanOfFen(refunded.fen)}`
      return write(
        rule('业务明细列表结束'),
        `#交易合计：${paid.count}笔，商家实收共${yuanOfFen(paid.fen)}元，商家优惠共0.00元`,
        `#退款合计：${refunded.count}笔，商家实收退款共${back}元，商家优惠退款共0.00元`,
        `#导出时间：[${timeOf(now)}]`,
      )
    },
  }
}

const rowOf = (
  tradeNo: string,
  outTradeNo: string,
  kind: string,
  times: readonly string[],
  amount: string,
  request: string,
  fee: string,
) =>
  [
    ...[
      `${tradeNo}\t`,
      `${outTradeNo}\t`,
      `${kind}\t`,
      '合成商品',
      ...times,
      '\t',
      '\t',
      '\t',
      '\t',
      '*某(138****00)\t',
    ],
    ...[amount, amount, '0.00', '0.00', '0.00', '0.00', '0.00', '', '0.00\t', '0.00', `${request}\t`, fee, '0.00', ''],
  ].join(',')

/** Beijing's, as in `2026年11月11日 00:00:00`. */
const timeOf = (at: Date) => {
  const [date = '', time = ''] = inBeijing(at).split('T')
  const [year = '', month = '', day = ''] = date.split('-')
  return `${year}年${month}月${day}日 ${time.slice(0, 8)}`
}
