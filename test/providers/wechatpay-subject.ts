import { createPublicKey, createSecretKey, X509Certificate } from 'node:crypto'
import type { CallbackRequest } from '../../src/providers/provider.ts'
import { createWechatpay } from '../../src/providers/wechatpay/create.ts'
import { sealEnvelope, signRequest, type Envelope } from '../../src/providers/wechatpay/sign.ts'
import { platform, platformPrivateKey } from './vectors.ts'

/** A merchant of WeChat Pay v3 and what WeChat Pay sends it, for the tests of this provider. */
export const NOW = new Date('2024-05-20T05:29:36Z')
export const MCHID = '1900000001'
export const APPID = 'wx0000000000000001'
export const PUBLIC_KEY_ID = 'PUB_KEY_ID_0100000000000000000000000000000001'
export const publicKey = createPublicKey(platform.wechatPayPublicKeyPem)
export const certificate = new X509Certificate(platform.wechatPayCertificatePem)
export const bound = (mchid: string, apiV3Keys: readonly string[] = [platform.apiV3Key]) =>
  createWechatpay({
    mchid,
    appids: new Set([APPID, 'wx0000000000000002']),
    apiV3Keys: apiV3Keys.map((key) => createSecretKey(Buffer.from(key))),
    platformKeys: new Map([
      [certificate.serialNumber, { key: certificate.publicKey, validToMs: certificate.validToDate.getTime() }],
      [PUBLIC_KEY_ID, { key: publicKey, validToMs: Infinity }],
    ]),
  })
export const provider = bound(MCHID)

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

const combined = {
  combine_appid: APPID,
  combine_mchid: MCHID,
  combine_out_trade_no: 'C1',
  sub_orders: [1, 2].map((n) => ({
    mchid: MCHID,
    out_trade_no: `T${n}`,
    transaction_id: `420000000${n}`,
    trade_state: 'SUCCESS',
    success_time: '2024-05-20T13:29:35+08:00',
    amount: { total_amount: n * 100, payer_amount: n, currency: 'CNY' },
  })),
}
const movement = { mchid: MCHID, transaction_id: '4200', out_order_no: 'P1', order_id: '3008', success_time: '' }

/** One notice of each kind, as bytes to sign. */
const KINDS: readonly Envelope[] = [
  payment,
  { ...payment, id: 'EV-2', resource: { ...transaction, out_trade_no: 'T2', transaction_id: '42000002' } },
  { ...payment, id: 'EV-3', resource: combined },
  { ...payment, id: 'EV-4', originalType: 'profitsharing', resource: movement },
]
export const genuineNotices = KINDS.map((envelope) => {
  const request = notice(envelope)
  const verdict = provider.verify(request, NOW)
  if (verdict.kind === 'refused') throw new Error(`refused: ${JSON.stringify(verdict.rejection)}`)
  return { request, resource: envelope.resource, messages: verdict.messages }
})
