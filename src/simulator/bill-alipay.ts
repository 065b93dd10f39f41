import { createHmac, randomBytes } from 'node:crypto'
import { createBillWriter } from '../providers/alipay/compose-bill.ts'
import { encodeText } from '../providers/alipay/encode-text.ts'
import { chinaTimeMs } from '../providers/china-time.ts'
import { billEntries, type BillEntry } from './bill-entries.ts'
import { zipOf } from './compose-zip.ts'
import type { SenderKeys } from './keys.ts'
import type { Answered, AnswerQuery, Asked } from './query-server.ts'
import type { Truth } from './truth.ts'

/** Whoever has the address has the bill, for half a minute. */
const VALID_MS = 30_000
const SECRET = randomBytes(32)
const stamp = (text: string) => createHmac('sha256', SECRET).update(text).digest('hex').slice(0, 32)

/** Where the bill of a day is. Undefined: there is none. */
export function billAddress(content: BillContent, asked: Asked, keys: SenderKeys, truth: Truth): string | undefined {
  const day = content.bill_date ?? ''
  if (content.bill_type !== 'trade' || bill(day, asked, keys, truth) === undefined) return undefined
  const token = `${keys.alipay.appId}.${day}.${asked.at.getTime() + VALID_MS}`
  return `http://${asked.headers['host'] ?? ''}/alipay-bill/${token}.${stamp(token)}`
}
export interface BillContent {
  readonly bill_type?: string
  readonly bill_date?: string
}

/** The bill under such an address: a zip of the details and a summary, names and texts in GBK. */
export const answerAlipayBill: AnswerQuery = (asked, all, truth) => {
  const [appId = '', day = '', until = '', given] = (asked.url.pathname.split('/')[2] ?? '').split('.')
  const keys = all.find(({ alipay }) => alipay.appId === appId)
  const isValid = stamp(`${appId}.${day}.${until}`) === given && asked.at.getTime() <= Number(until)
  const details = keys && isValid ? bill(day, asked, keys, truth) : undefined
  if (keys === undefined || details === undefined) return FORBIDDEN
  const name = `${keys.alipay.sellerId}0156_${day.replaceAll('-', '')}`
  const body = zipOf([
    { name: encodeText(`${name}_业务明细(汇总).csv`, 'gbk'), content: encodeText('#支付宝业务汇总查询\r\n', 'gbk') },
    { name: encodeText(`${name}_业务明细.csv`, 'gbk'), content: details },
  ])
  return { status: 200, headers: { 'content-type': 'application/zip' }, body }
}
const FORBIDDEN: Answered = { status: 403, headers: {}, body: '' }

function bill(day: string, { at, differences }: Asked, keys: SenderKeys, truth: Truth): Buffer | undefined {
  const { merchant } = keys
  const entries = billEntries(day, { provider: 'alipay', merchant, truth, now: at, differences })
  if (entries === undefined) return undefined
  const writer = createBillWriter(keys.alipay.sellerId, new Date(chinaTimeMs(`${day} 00:00:00`) ?? 0))
  const row = ({ transaction, refund }: BillEntry) => {
    const { transactionId: tradeNo, outTradeNo, amountMinor: totalFen } = transaction
    const paidAt = truth.dateOf(transaction.atMs)
    const trade = { tradeNo, outTradeNo, createdAt: paidAt }
    if (refund === null) return writer.trade({ ...trade, totalFen, paidAt }, '-0.01')
    const { outRefundNo: outRequestNo, amountMinor: refundFen } = refund
    return writer.refund({ ...trade, outRequestNo, refundFen, refundedAt: truth.dateOf(refund.atMs) })
  }
  return Buffer.concat([writer.head(), ...entries.map(row), writer.foot(at)])
}
