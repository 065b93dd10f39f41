import {
  composeCombined,
  composePayment,
  composeRefund,
  type Party,
  type RefundOrder,
} from '../providers/wechatpay/compose.ts'
import { sealEnvelope, signProbe, signRequest, type Envelope } from '../providers/wechatpay/sign.ts'
import { keyFor } from './choose-key.ts'
import type { SenderKeys } from './keys.ts'
import type { PlannedRefund, PlannedTransaction } from './planned.ts'
import { signedAt, strangerTo, type Delivered } from './delivered.ts'

/** A WeChat Pay v3 notification, signed by one of the platform keys. */
export function signWechatpay(delivered: Delivered, keys: SenderKeys) {
  const { callback, defect, dateOf } = delivered
  const { transaction, refund } = callback
  const signer = {
    ...keyFor(keys.wechatpay.platforms, delivered),
    apiV3Key: keyFor(keys.wechatpay.apiV3Keys, delivered),
  }
  const happenedAt = dateOf(refund?.atMs ?? transaction.atMs)
  const rawBody = sealEnvelope(envelopeOf(delivered, keys), signer.apiV3Key, happenedAt)
  if (defect === 'probe') return signProbe(rawBody, signer, delivered.at, 'another_signature')
  const signed = signRequest(rawBody, signer, signedAt(delivered))
  // A good signature, of something else.
  return defect === 'wrong_signature'
    ? { ...signed, headers: { ...signed.headers, 'wechatpay-nonce': '0'.repeat(32) } }
    : signed
}

function envelopeOf({ callback, defect, dateOf }: Delivered, keys: SenderKeys): Envelope {
  const { event, transaction, refund, messageId } = callback
  const party = partyOf(keys, defect === 'stranger')
  if (refund !== null) return composeRefund(messageId, party, refundOrder(transaction, refund, dateOf))
  if (event !== 'payment') throw new Error(`WeChat Pay has no word for ${event}`)
  const paidAt = dateOf(transaction.atMs)
  const paid = ({ outTradeNo, transactionId, amountMinor }: PlannedTransaction['others'][number]) => ({
    ...{ outTradeNo, transactionId, totalFen: amountMinor, paidAt },
  })
  return transaction.form === 'combined'
    ? composeCombined(
        messageId,
        combineOutTradeNo(transaction),
        [transaction, ...transaction.others].map((one) => [party, paid(one)] as const),
      )
    : composePayment(messageId, party, paid(transaction))
}

/** The number of the whole of a combined payment. */
export const combineOutTradeNo = ({ outTradeNo }: PlannedTransaction) => `C${outTradeNo}`

/** The merchant, as WeChat Pay names it; a stranger has another number, and its notices come to us by mistake. */
export function partyOf({ wechatpay: { mchid, appid, partner } }: SenderKeys, isStranger = false): Party {
  const named = { mchid: isStranger ? strangerTo(mchid) : mchid, appid }
  return partner === null ? named : { ...named, partner }
}

export const refundOrder = (
  { outTradeNo, transactionId, amountMinor }: PlannedTransaction,
  refund: PlannedRefund,
  dateOf: (atMs: number) => Date,
): RefundOrder => ({
  ...{ outTradeNo, transactionId, outRefundNo: refund.outRefundNo, refundId: refund.refundId },
  ...{ totalFen: amountMinor, refundFen: refund.amountMinor, at: dateOf(refund.atMs) },
  status: ({ succeeded: 'SUCCESS', abnormal: 'ABNORMAL', closed: 'CLOSED' } as const)[refund.state],
})
