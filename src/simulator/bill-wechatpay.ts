import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { createBillWriter } from '../providers/wechatpay/compose-bill.ts'
import { billEntries, type BillEntry } from './bill-entries.ts'
import type { SenderKeys } from './keys.ts'
import type { Asked } from './query-server.ts'
import { partyOf, refundOrder } from './sign-wechatpay.ts'
import type { Truth } from './truth.ts'

export const TRADE_BILL = '/v3/bill/tradebill'
export const BILL_FILE = '/v3/billdownload/file'

/** Where the bill of a day is, and the digest of what it is when it is unpacked. Undefined: there is none. */
export function tradeBill(asked: Asked, keys: SenderKeys, truth: Truth): object | undefined {
  const { searchParams } = asked.url
  const [day, pack] = [searchParams.get('bill_date') ?? '', searchParams.get('tar_type') ?? '']
  if ((searchParams.get('bill_type') ?? 'ALL') !== 'ALL') return undefined
  const text = textOf(day, asked, keys, truth)
  if (text === undefined) return undefined
  const wrong = asked.differences?.isOtherFile === true ? ' ' : ''
  return {
    ...{
      hash_type: 'SHA1',
      hash_value: createHash('sha1')
        .update(text + wrong)
        .digest('hex'),
    },
    download_url: `http://${asked.headers['host'] ?? ''}${BILL_FILE}?token=${day}${pack === 'GZIP' ? '.gz' : ''}`,
  }
}

/** The bill itself, which nothing signs. */
export function billFile(asked: Asked, keys: SenderKeys, truth: Truth): Buffer | undefined {
  const [day = '', pack] = (asked.url.searchParams.get('token') ?? '').split('.')
  const text = textOf(day, asked, keys, truth)
  if (text === undefined) return undefined
  return pack === 'gz' ? gzipSync(text) : Buffer.from(text)
}

function textOf(day: string, { at, differences }: Asked, keys: SenderKeys, truth: Truth): string | undefined {
  const { merchant } = keys
  const entries = billEntries(day, { provider: 'wechatpay', merchant, truth, now: at, differences })
  if (entries === undefined) return undefined
  const writer = createBillWriter(partyOf(keys))
  const row = ({ transaction, refund }: BillEntry) => {
    const { outTradeNo, transactionId, amountMinor, atMs } = transaction
    if (refund === null)
      return writer.payment({ outTradeNo, transactionId, totalFen: amountMinor, paidAt: truth.dateOf(atMs) }, '0.00600')
    const order = refundOrder(transaction, refund, truth.dateOf)
    // As it was when it was asked for, and never mended.
    return writer.refund(order.status === 'SUCCESS' ? order : { ...order, status: 'PROCESSING' })
  }
  return [writer.head(), ...entries.map(row), writer.foot()].join('')
}
