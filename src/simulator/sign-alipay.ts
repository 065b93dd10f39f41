import { alipayTime, signNotice } from '../providers/alipay/sign.ts'
import type { SenderKeys } from './keys.ts'
import type { Defect } from './plan.ts'
import type { Payment } from './sign-payment.ts'

/** An Alipay notice of a payment; every delivery repeats it to the byte, as no time of delivery is in it. */
export function signAlipay(payment: Payment, keys: SenderKeys, defect: Defect) {
  const fen = String(payment.amountMinor).padStart(3, '0')
  const yuan = `${fen.slice(0, -2)}.${fen.slice(-2)}`
  const paidAt = alipayTime(payment.paidAt)
  const signed = signNotice(
    {
      notify_time: paidAt,
      notify_type: 'trade_status_sync',
      notify_id: payment.messageId,
      charset: 'utf-8',
      version: '1.0',
      sign_type: 'RSA2',
      app_id: keys.alipayAppId,
      auth_app_id: keys.alipayAppId,
      seller_id: keys.sellerId,
      trade_no: payment.transactionId,
      out_trade_no: payment.outTradeNo,
      trade_status: 'TRADE_SUCCESS',
      total_amount: yuan,
      receipt_amount: yuan,
      buyer_pay_amount: yuan,
      subject: '模拟商品 +1',
      gmt_create: paidAt,
      gmt_payment: paidAt,
      fund_bill_list: `[{"amount":"${yuan}","fundChannel":"ALIPAYACCOUNT"}]`,
    },
    keys.alipayKey,
  )
  // A good signature, of another notice.
  return defect === 'none'
    ? signed
    : { ...signed, rawBody: Buffer.concat([signed.rawBody, Buffer.from('&body=forged')]) }
}
