import type { BillStatement } from '../bill.ts'
import { chinaTimeMs } from '../china-time.ts'
import { isIdentity, traceable } from '../limits.ts'
import { factsOfBillRow } from './facts-of-bill.ts'
import type { BillRow } from './read-bill.ts'
import type { Recipient } from './recipient.ts'

/** What a row of a trade bill says, or the title of the column that is not as documented or names somebody else. */
export function statementOf(row: BillRow, to: Pick<Recipient, 'mchid' | 'subMchids'>): BillStatement | string {
  const read = factsOfBillRow(row, to)
  if (typeof read === 'string') return read
  const { outTradeNo, facts } = read
  // A byte that is no UTF-8 was replaced: two orders could seem to be one.
  for (const title of ['商户订单号', '微信订单号', '微信退款单号', '商户退款单号'])
    if (row[title]?.includes('\ufffd') === true) return title
  const [fact = null] = facts
  const isRefund = row['交易状态'] === 'REFUND'
  const number = row[isRefund ? '微信退款单号' : '微信订单号']
  const ref = `wechatpay:${number ?? ''}`
  if (!isIdentity(number) || !isIdentity(ref)) return isRefund ? '微信退款单号' : '微信订单号'
  const asked = traceable(row['商户退款单号'])
  const status = isRefund ? row['退款状态'] : row['交易状态']
  return {
    what: isRefund ? 'refund' : 'payment',
    ...{ outTradeNo, ref, fact },
    paymentRef: isRefund ? `wechatpay:${traceable(row['微信订单号'])}` : null,
    status: traceable(status).slice(0, 64),
    askRef: isRefund && asked !== '' ? `refund:${asked}` : null,
    // factsOfBillRow has read it.
    atMs: chinaTimeMs(row['交易时间']) ?? 0,
  }
}
