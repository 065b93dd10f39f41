import { apiKey } from '../providers/wechatpay-v2/api-key.ts'
import { compactTime, sealRefund, signPayment, spacedTime } from '../providers/wechatpay-v2/sign.ts'
import { keyFor } from './choose-key.ts'
import type { SenderKeys } from './keys.ts'
import type { PlannedTransaction } from './planned.ts'
import { strangerTo, type Delivered } from './delivered.ts'

/** A WeChat Pay v2 notification: a signed payment, or a refund that nothing signs. */
export function signWechatpayV2(delivered: Delivered, keys: SenderKeys) {
  const { callback, defect, dateOf } = delivered
  const { event, transaction, refund, messageId } = callback
  const key = apiKey(keyFor(keys.wechatpayV2.apiKeys, delivered))
  const envelope = { return_code: 'SUCCESS', ...recipientFields(keys, defect === 'stranger'), nonce_str: messageId }
  if (refund !== null)
    return sealRefund(
      envelope,
      {
        ...{ out_refund_no: refund.outRefundNo, out_trade_no: transaction.outTradeNo, refund_id: refund.refundId },
        ...{ transaction_id: transaction.transactionId, refund_fee: String(refund.amountMinor) },
        ...{ settlement_refund_fee: String(refund.amountMinor), total_fee: String(transaction.amountMinor) },
        ...{ refund_status: 'SUCCESS', success_time: spacedTime(dateOf(refund.atMs)) },
        ...{ refund_account: 'REFUND_SOURCE_RECHARGE_FUNDS', refund_request_source: 'API' },
        refund_recv_accout: '支付用户零钱',
      },
      key,
    )
  if (event !== 'payment') throw new Error(`WeChat Pay v2 has no word for ${event}`)
  const fields = { ...envelope, ...paymentFields(transaction, dateOf) }
  const signed = signPayment({ ...fields, sign_type: 'HMAC-SHA256' }, key)
  if (defect !== 'wrong_signature') return signed
  // A good signature, of something else.
  return { ...signed, rawBody: Buffer.from(signed.rawBody.toString().replace('</xml>', '<forged>1</forged></xml>')) }
}

/** Whom a message is to, as v2 names them. */
export function recipientFields({ wechatpay: { mchid, appid, partner } }: SenderKeys, isStranger = false) {
  const to = isStranger ? strangerTo(mchid) : mchid
  return partner === null
    ? { appid, mch_id: to }
    : { appid: partner.spAppid, mch_id: partner.spMchid, sub_appid: appid, sub_mch_id: to }
}

/** What a payment's notification and the order query have in common. */
export const paymentFields = (
  { outTradeNo, transactionId, amountMinor, atMs }: PlannedTransaction,
  dateOf: (atMs: number) => Date,
) => ({
  ...{ result_code: 'SUCCESS', openid: 'o-simulated-payer', is_subscribe: 'N', trade_type: 'JSAPI' },
  ...{ bank_type: 'OTHERS', total_fee: String(amountMinor), fee_type: 'CNY', cash_fee: String(amountMinor) },
  ...{ transaction_id: transactionId, out_trade_no: outTradeNo, time_end: compactTime(dateOf(atMs)) },
})
