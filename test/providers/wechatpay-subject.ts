import { createPublicKey, createSecretKey, X509Certificate } from 'node:crypto'
import type { CallbackRequest } from '../../src/providers/provider.ts'
import { createWechatpay } from '../../src/providers/wechatpay/create.ts'
import {
  composeCombined,
  composePayment,
  composeProfitSharing,
  composeRefund,
  type PaidOrder,
  type Party,
  type RefundOrder,
} from '../../src/providers/wechatpay/compose.ts'
import type { WechatpayConfig } from '../../src/providers/wechatpay/config.ts'
import type { Recipient } from '../../src/providers/wechatpay/recipient.ts'
import { sealEnvelope, signRequest, type Envelope } from '../../src/providers/wechatpay/sign.ts'
import { platform, platformPrivateKey } from './vectors.ts'

/** A merchant of WeChat Pay v3 and what WeChat Pay sends it, for the tests of this provider. */
export const NOW = new Date('2024-05-20T05:29:36Z')
export const MCHID = '1900000001'
export const APPID = 'wx0000000000000001'
export const PUBLIC_KEY_ID = 'PUB_KEY_ID_0100000000000000000000000000000001'
export const publicKey = createPublicKey(platform.wechatPayPublicKeyPem)
export const certificate = new X509Certificate(platform.wechatPayCertificatePem)
/** The keys of every merchant in these tests: one APIv3 key, a certificate and a public key of WeChat Pay's. */
export const keys = {
  apiV3Keys: [{ value: createSecretKey(Buffer.from(platform.apiV3Key)), validToMs: Infinity }],
  platformKeys: new Map([
    [certificate.serialNumber, { key: certificate.publicKey, validToMs: certificate.validToDate.getTime() }],
    [PUBLIC_KEY_ID, { key: publicKey, validToMs: Infinity }],
  ]),
}
export const recipient: Recipient = {
  mchid: MCHID,
  appids: new Set([APPID, 'wx0000000000000002']),
  subMchids: new Set(),
  subAppids: new Set(),
}
export const bound = (change: Partial<WechatpayConfig> = {}) => createWechatpay({ ...recipient, ...keys, ...change })
export const provider = bound()

/** A partner's section: two sub-merchants, of which one has an app of its own. */
export const partnerRecipient: Recipient = {
  ...recipient,
  subMchids: new Set(['1900000008', '1900000009']),
  subAppids: new Set(['wx0000000000000009']),
}
export const partner = bound(partnerRecipient)
export const direct: Party = { mchid: MCHID, appid: APPID }
export const subMerchant = (mchid = '1900000009', appid: string | null = 'wx0000000000000009'): Party => ({
  mchid,
  ...(appid === null ? {} : { appid }),
  partner: { spMchid: MCHID, spAppid: APPID },
})

export const transaction = {
  mchid: MCHID,
  appid: APPID,
  out_trade_no: 'T1-2024_05|*',
  transaction_id: '4200002024052012345678901',
  trade_type: 'JSAPI',
  trade_state: 'SUCCESS',
  trade_state_desc: '支付成功',
  bank_type: 'CMC',
  attach: '{"out_trade_no":"T9"}',
  success_time: '2024-05-20T13:29:35+08:00',
  payer: { openid: 'o-synthetic' },
  amount: { total: 123456, payer_total: 123000, currency: 'CNY', payer_currency: 'CNY' },
}
export const payment: Envelope = {
  id: 'EV-2024052013293500001',
  eventType: 'TRANSACTION.SUCCESS',
  originalType: 'transaction',
  resource: transaction,
}
export const platformSigner = { serial: PUBLIC_KEY_ID, privateKey: platformPrivateKey, apiV3Key: platform.apiV3Key }
export const signedBytes = (rawBody: Buffer, signer = platformSigner): CallbackRequest => ({
  ...signRequest(rawBody, signer, NOW),
  repeatedHeaders: [],
})
export const notice = (change: Partial<Envelope> = {}, signer = platformSigner) =>
  signedBytes(sealEnvelope({ ...payment, ...change }, signer.apiV3Key, NOW), signer)

export const paid = (n: number): PaidOrder => ({
  outTradeNo: `T${n}`,
  transactionId: `42000020240520${n}`,
  totalFen: 100 * n,
  payerFen: 99 * n,
  paidAt: new Date('2024-05-20T05:29:35Z'),
})
export const refundOf = (n: number, change: Partial<RefundOrder> = {}): RefundOrder => ({
  outTradeNo: `T${n}`,
  transactionId: `42000020240520${n}`,
  outRefundNo: `R-${n}`,
  refundId: `503020${n}`,
  totalFen: 100 * n,
  refundFen: 30 * n,
  status: 'SUCCESS',
  at: new Date('2024-05-20T05:29:36Z'),
  ...change,
})
export const sharing = {
  transactionId: '420000202405201',
  orderId: '3008450740201411110007820472',
  outOrderNo: 'P1',
  amountFen: 5,
  at: new Date('2024-05-20T05:29:35Z'),
}

/** One notice of each kind, as bytes to sign. */
const KINDS: readonly Envelope[] = [
  payment,
  composePayment('EV-2', direct, paid(2)),
  composeCombined('EV-3', 'C1', [
    [direct, paid(3)],
    [direct, paid(4)],
  ]),
  composeProfitSharing('EV-4', direct, sharing),
  composeRefund('EV-5', direct, refundOf(1)),
  composeRefund('EV-6', direct, refundOf(2, { status: 'ABNORMAL' })),
  composeRefund('EV-7', direct, refundOf(3, { status: 'CLOSED' })),
]
export const genuineNotices = KINDS.map((envelope) => {
  const request = notice(envelope)
  const verdict = provider.verify(request, NOW)
  if (verdict.kind === 'refused') throw new Error(`refused: ${JSON.stringify(verdict.rejection)}`)
  return { request, resource: envelope.resource, messages: verdict.messages }
})
