import { beijing, sealEnvelope, signRequest } from '../providers/wechatpay/sign.ts'
import type { SenderKeys } from './keys.ts'
import type { Defect } from './plan.ts'
import type { Payment } from './sign-payment.ts'

/** Ten minutes old: twice what is taken. */
const STALE_MS = 600_000

/** A WeChat Pay v3 notification of a payment, signed at `at` by one of the two platform keys. */
export function signWechatpay(payment: Payment, keys: SenderKeys, defect: Defect, at: Date) {
  const resource = {
    mchid: keys.mchid,
    appid: keys.appid,
    out_trade_no: payment.outTradeNo,
    transaction_id: payment.transactionId,
    trade_type: 'JSAPI',
    trade_state: 'SUCCESS',
    trade_state_desc: '支付成功',
    bank_type: 'OTHERS',
    attach: '',
    success_time: beijing(payment.paidAt),
    payer: { openid: 'o-simulated-payer' },
    amount: {
      total: payment.amountMinor,
      payer_total: payment.amountMinor,
      currency: 'CNY',
      payer_currency: 'CNY',
    },
  }
  const envelope = { id: payment.messageId, eventType: 'TRANSACTION.SUCCESS', originalType: 'transaction', resource }
  const rawBody = sealEnvelope(envelope, keys.apiV3Key, payment.paidAt)
  // As during a migration: certificate and public key sign at random.
  const drawn = payment.messageId.charCodeAt(payment.messageId.length - 1) + at.getTime()
  const platform = keys.platforms[drawn % keys.platforms.length]
  if (platform === undefined) throw new Error(`${keys.merchant} has no platform key`)
  const signer = { ...platform, apiV3Key: keys.apiV3Key }
  const signedAt = defect === 'stale_timestamp' ? new Date(at.getTime() - STALE_MS) : at
  const { headers } = signRequest(rawBody, signer, signedAt)
  const signature = headers['wechatpay-signature'] ?? ''
  switch (defect) {
    case 'none':
    case 'stale_timestamp':
      return { headers, rawBody }
    case 'probe':
      return { headers: { ...headers, 'wechatpay-signature': `WECHATPAY/SIGNTEST/${signature.slice(20)}` }, rawBody }
    case 'wrong_signature':
      // A good signature, of something else.
      return { headers: { ...headers, 'wechatpay-nonce': '0'.repeat(32) }, rawBody }
  }
}
