import { tradeNotice, type NotifiedTrade, type NoticeEvent } from '../providers/alipay/notice-fields.ts'
import { signNotice } from '../providers/alipay/sign.ts'
import { keyFor } from './choose-key.ts'
import type { SenderKeys } from './keys.ts'
import type { PlannedCallback, PlannedTransaction } from './planned.ts'
import { strangerTo, type Delivered } from './delivered.ts'

/** An Alipay notice; its text is the same at each delivery, as no time of delivery is in it. */
export function signAlipay(delivered: Delivered, keys: SenderKeys) {
  const { callback, defect, dateOf } = delivered
  const { appId } = keys.alipay
  const trade = {
    ...tradeOf(callback.transaction, keys, dateOf),
    ...(defect === 'stranger' ? { appId: strangerTo(appId) } : {}),
  }
  const unpaid = callback.event === 'waiting' || callback.event === 'closed' ? { paidAt: null } : {}
  const fields = tradeNotice({ ...trade, ...unpaid }, eventOf(callback, dateOf))
  const signed = signNotice(fields, keyFor(keys.alipay.keys, delivered))
  // A good signature, of another notice.
  return defect === 'wrong_signature'
    ? { ...signed, rawBody: Buffer.concat([signed.rawBody, Buffer.from('&body=forged')]) }
    : signed
}

export const tradeOf = (
  { transactionId, outTradeNo, amountMinor, atMs, form }: PlannedTransaction,
  { alipay }: SenderKeys,
  dateOf: (atMs: number) => Date,
): NotifiedTrade => ({
  ...{ appId: alipay.appId, sellerId: alipay.sellerId, tradeNo: transactionId, outTradeNo, totalFen: amountMinor },
  ...{
    subject: '模拟商品 +1',
    createdAt: dateOf(atMs),
    paidAt: dateOf(atMs),
    charset: form === 'gbk' ? 'gbk' : 'utf-8',
  },
})

function eventOf(
  { event, transaction, refund, messageId }: PlannedCallback,
  dateOf: (atMs: number) => Date,
): NoticeEvent {
  const about = { notifyId: messageId, at: dateOf(refund?.atMs ?? transaction.atMs) }
  switch (event) {
    case 'payment':
      return { ...about, status: 'TRADE_SUCCESS' }
    case 'finished':
      return { ...about, status: 'TRADE_FINISHED' }
    case 'waiting':
      return { ...about, status: 'WAIT_BUYER_PAY' }
    case 'closed':
      return { ...about, status: 'TRADE_CLOSED' }
    default: {
      if (refund === null || refund.state !== 'succeeded') throw new Error(`Alipay has no word for ${event}`)
      const isAll = refund.totalMinor === transaction.amountMinor
      const refunded = { fen: refund.totalMinor, outBizNo: refund.outRefundNo, at: dateOf(refund.atMs) }
      return { ...about, status: isAll ? 'TRADE_CLOSED' : 'TRADE_SUCCESS', refunded }
    }
  }
}
