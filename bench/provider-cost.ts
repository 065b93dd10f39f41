// Question: what does a callback's verification cost per provider, beside the bare crypto operation on the same bytes?
// node bench/provider-cost.ts [milliseconds per measurement] [rounds]
import {
  createDecipheriv,
  createHmac,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  verify,
  type KeyObject,
} from 'node:crypto'
import { createAlipay } from '../src/providers/alipay/create.ts'
import { alipayTime, signNotice } from '../src/providers/alipay/sign.ts'
import type { CallbackRequest, Provider } from '../src/providers/provider.ts'
import { webhookSecret } from '../src/providers/standard-webhooks/keys.ts'
import { stripeSecret } from '../src/providers/stripe/config.ts'
import { createStripe } from '../src/providers/stripe/create.ts'
import { signEvent, stripeEvent } from '../src/providers/stripe/sign.ts'
import { apiKey } from '../src/providers/wechatpay-v2/api-key.ts'
import { createWechatpayV2 } from '../src/providers/wechatpay-v2/create.ts'
import { compactTime, signPayment } from '../src/providers/wechatpay-v2/sign.ts'
import { createWechatpay } from '../src/providers/wechatpay/create.ts'
import { beijing, sealEnvelope, signRequest } from '../src/providers/wechatpay/sign.ts'
import { createWorker } from '../src/providers/worker/create.ts'
import { signReport } from '../src/providers/worker/sign.ts'

const now = new Date('2026-11-11T12:00:00Z')
const MCHID = '1900000001'
const APPID = 'wx0000000000000001'
const ORDER = '20261111120000000001'

interface Case {
  readonly name: string
  readonly provider: Provider
  readonly request: CallbackRequest
  /** The crypto alone, on the same bytes, and what it is. */
  readonly bare: () => void
  readonly operation: string
}

const requestOf = ({ headers, rawBody }: { headers: Readonly<Record<string, string>>; rawBody: Buffer }) => ({
  headers,
  repeatedHeaders: [],
  rawBody,
})
const keyPair = () => generateKeyPairSync('rsa', { modulusLength: 2_048 })
const rsa = (privateKey: KeyObject, content: Buffer) => {
  const [key, signature] = [createPublicKey(privateKey), sign('RSA-SHA256', content, privateKey)]
  return () => void verify('RSA-SHA256', content, key, signature)
}
const hmac = (key: KeyObject, content: Buffer) => () => void createHmac('sha256', key).update(content).digest()
const contentOf = (provider: Provider, request: CallbackRequest) =>
  provider.inspect.canonical(request) ?? Buffer.alloc(0)

function wechatpay(): Case[] {
  const { publicKey, privateKey } = keyPair()
  const [serial, key] = ['PUB_KEY_ID_0100000000000000000000000000000001', randomBytes(16).toString('hex')]
  const apiV3Key = createSecretKey(Buffer.from(key))
  const provider = createWechatpay({
    ...{ mchid: MCHID, appids: new Set([APPID]), subMchids: new Set(), subAppids: new Set() },
    apiV3Keys: [{ value: apiV3Key, validToMs: Infinity }],
    platformKeys: new Map([[serial, { key: publicKey, validToMs: Infinity }]]),
  })
  const resource = {
    ...{ mchid: MCHID, appid: APPID, out_trade_no: ORDER, transaction_id: '4200002026111100000000000001' },
    ...{ trade_type: 'JSAPI', trade_state: 'SUCCESS', trade_state_desc: '支付成功', bank_type: 'CMC', attach: '' },
    ...{ success_time: beijing(now), payer: { openid: 'o-synthetic-0000000000000000' } },
    amount: { total: 100, payer_total: 100, currency: 'CNY', payer_currency: 'CNY' },
  }
  const envelope = { id: 'EV-1', eventType: 'TRANSACTION.SUCCESS', originalType: 'transaction', resource }
  const rawBody = sealEnvelope(envelope, key, now)
  const request = requestOf(signRequest(rawBody, { serial, privateKey, apiV3Key: key }, now))
  const verifyBare = rsa(privateKey, contentOf(provider, request))
  const sealed = (JSON.parse(rawBody.toString()) as { resource: { ciphertext: string; nonce: string } }).resource
  const bytes = Buffer.from(sealed.ciphertext, 'base64')
  const decryptBare = () => {
    const decipher = createDecipheriv('aes-256-gcm', apiV3Key, sealed.nonce, { authTagLength: 16 })
    decipher.setAAD(Buffer.from('transaction')).setAuthTag(bytes.subarray(-16))
    decipher.update(bytes.subarray(0, -16))
    decipher.final()
  }
  const name = 'WeChat Pay v3, decryption included'
  const both = () => {
    verifyBare()
    decryptBare()
  }
  return [
    { name, provider, request, bare: verifyBare, operation: 'RSA-2048' },
    { name, provider, request, bare: both, operation: 'RSA-2048 and AES-256-GCM' },
  ]
}

function wechatpayV2(): Case {
  const key = apiKey(randomBytes(16).toString('hex'))
  const provider = createWechatpayV2({
    ...{ mchid: MCHID, appids: new Set([APPID]), subMchids: new Set(), subAppids: new Set() },
    apiKeys: [key],
    signTypes: new Set(['HMAC-SHA256']),
  })
  const fields = {
    ...{ appid: APPID, mch_id: MCHID, nonce_str: randomBytes(16).toString('hex'), return_code: 'SUCCESS' },
    ...{ result_code: 'SUCCESS', openid: 'o-synthetic-0000000000000000', is_subscribe: 'N', trade_type: 'JSAPI' },
    ...{ bank_type: 'CMC', total_fee: '100', fee_type: 'CNY', cash_fee: '100', time_end: compactTime(now) },
    ...{ transaction_id: '4200002026111100000000000001', out_trade_no: ORDER },
  }
  const request = requestOf(signPayment(fields, key))
  return {
    name: 'WeChat Pay v2',
    provider,
    request,
    bare: hmac(key.key, contentOf(provider, request)),
    operation: 'HMAC',
  }
}

function alipay(): Case {
  const { publicKey, privateKey } = keyPair()
  const [appId, sellerId] = ['2021000000000001', '2088000000000001']
  const provider = createAlipay({
    ...{ appIds: new Set([appId]), sellerIds: new Set([sellerId]), sellerEmails: new Set() },
    keys: [{ id: 'key', certSn: null, key: publicKey, validToMs: Infinity }],
  })
  const fields = {
    ...{ notify_time: alipayTime(now), notify_type: 'trade_status_sync', notify_id: '2026111100222120000000000000001' },
    ...{ charset: 'utf-8', version: '1.0', sign_type: 'RSA2', app_id: appId, auth_app_id: appId, seller_id: sellerId },
    ...{ trade_no: '2026111122001400000000000001', out_trade_no: ORDER, trade_status: 'TRADE_SUCCESS' },
    ...{ total_amount: '1.00', receipt_amount: '1.00', invoice_amount: '1.00', buyer_pay_amount: '1.00' },
    ...{ subject: '测试 商品+1', gmt_create: alipayTime(now), gmt_payment: alipayTime(now), point_amount: '0.00' },
    ...{ buyer_id: '2088000000000002', fund_bill_list: '[{"amount":"1.00","fundChannel":"ALIPAYACCOUNT"}]' },
  }
  const request = requestOf(signNotice(fields, privateKey))
  const bare = rsa(privateKey, contentOf(provider, request))
  return { name: 'Alipay', provider, request, bare, operation: 'RSA-2048' }
}

function stripe(): Case {
  const secret = stripeSecret(`whsec_${randomBytes(24).toString('base64')}`)
  const provider = createStripe({
    ...{ secrets: [{ value: secret, validToMs: Infinity }], livemode: true, accounts: new Set<string>() },
    recipient: [],
    outTradeNo: [{ text: 'metadata.out_trade_no', tokens: ['metadata', 'out_trade_no'] }],
  })
  const object = {
    ...{ id: 'pi_3ABCDEF0123456789', object: 'payment_intent', amount: 100, amount_received: 100, currency: 'usd' },
    ...{ status: 'succeeded', created: Math.floor(now.getTime() / 1_000), metadata: { out_trade_no: ORDER } },
  }
  const event = stripeEvent({ id: 'evt_1ABC', type: 'payment_intent.succeeded', object, at: now })
  const request = requestOf(signEvent(event, [secret], now))
  return { name: 'Stripe', provider, request, bare: hmac(secret, contentOf(provider, request)), operation: 'HMAC' }
}

function worker(): Case {
  const secret = webhookSecret(`whsec_${randomBytes(32).toString('base64')}`)
  if (secret === undefined) throw new Error('no secret')
  const provider = createWorker({ secrets: [{ value: secret, validToMs: Infinity }] })
  const data = { out_trade_no: ORDER, event_id: 'e-1', reference: 'SF1234567890' }
  const report = { type: 'shipment_completed', timestamp: now.toISOString(), data }
  const request = requestOf(signReport(report, 'rep_1', [secret], now))
  const bare = hmac(secret, contentOf(provider, request))
  return { name: 'a worker (Standard Webhooks)', provider, request, bare, operation: 'HMAC' }
}

const microsOf = (work: () => void, milliseconds: number) => {
  let done = 0
  const before = process.cpuUsage()
  for (const endMs = performance.now() + milliseconds; performance.now() < endMs; done += 100)
    for (let i = 0; i < 100; i++) work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / done
}
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

export interface ProviderCost {
  readonly name: string
  readonly operation: string
  readonly verifyMicros: number
  readonly bareMicros: number
  /** Rate of the verification ÷ rate of the bare operation. */
  readonly share: number
}

/** CPU of each provider's `verify` beside the bare operation, measured in turn, so that a slow moment meets both. */
export function providerCosts({ milliseconds = 400, rounds = 5 } = {}): ProviderCost[] {
  return [...wechatpay(), wechatpayV2(), alipay(), stripe(), worker()].map(
    ({ name, provider, request, bare, operation }) => {
      const verdict = provider.verify(request, now)
      if (verdict.kind !== 'verified' || verdict.messages[0].facts.length === 0)
        throw new Error(`${name}: ${JSON.stringify(verdict)}`)
      const check = () => void provider.verify(request, now)
      microsOf(check, milliseconds)
      microsOf(bare, milliseconds)
      const measured = Array.from({ length: rounds }, () => {
        const [verifyMicros, bareMicros] = [microsOf(check, milliseconds), microsOf(bare, milliseconds)]
        return { verifyMicros, bareMicros, share: bareMicros / verifyMicros }
      })
      const of = (field: 'verifyMicros' | 'bareMicros' | 'share') => median(measured.map((one) => one[field]))
      return {
        ...{ name, operation },
        ...{ verifyMicros: round(of('verifyMicros')), bareMicros: round(of('bareMicros')), share: round(of('share')) },
      }
    },
  )
}

const round = (value: number) => Math.round(value * 100) / 100

if (import.meta.main) {
  const [milliseconds = '400', rounds = '5'] = process.argv.slice(2)
  console.table(providerCosts({ milliseconds: Number(milliseconds), rounds: Number(rounds) }))
}
