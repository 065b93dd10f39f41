import { createPublicKey, X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import type { AlipayKey } from '../../src/providers/alipay/config.ts'
import { certSnOf } from '../../src/providers/alipay/cert-sn.ts'
import { createAlipay } from '../../src/providers/alipay/create.ts'
import { parseForm } from '../../src/providers/alipay/parse-form.ts'
import { encodeForm } from '../../src/providers/alipay/sign.ts'
import { verifySignature } from '../../src/providers/alipay/verify.ts'
import { request } from './alipay-subject.ts'
import { vector } from './vectors.ts'

const BAD_SIGNATURE = { kind: 'refused', rejection: { kind: 'bad_signature' } }
const BAD_SIGN_TYPE = { kind: 'refused', rejection: { kind: 'malformed', field: 'sign_type' } }

interface Notice {
  publicKeyBase64Der: string
  params: Record<string, string>
}
const bound = (appId: string, sellerId: string, keys: readonly AlipayKey[]) =>
  createAlipay({ appIds: new Set([appId]), sellerIds: new Set([sellerId]), sellerEmails: new Set(), keys })
const certificateKey = (pem: string): AlipayKey => {
  const certificate = new X509Certificate(pem)
  const certSn = certSnOf(certificate)
  return { id: certSn, certSn, key: certificate.publicKey, validToMs: certificate.validToDate.getTime() }
}

test('alipay-sdk-nodejs-all: a real trade notice, in public-key mode', () => {
  const v = vector('alipay/nodejs-trade-notify') as Notice
  const key = createPublicKey({ key: Buffer.from(v.publicKeyBase64Der, 'base64'), format: 'der', type: 'spki' })
  const { app_id = '', seller_id = '', seller_email = '', fund_bill_list = '', out_trade_no } = v.params
  const keys = [{ id: 'publicKeyFiles.0', certSn: null, key, validToMs: Infinity }]
  const provider = bound(app_id, seller_id, keys)
  const verdictOf = (change: Record<string, string>) =>
    provider.verify(request(encodeForm({ ...v.params, ...change })), new Date())
  const paid = { messages: [{ outTradeNo: out_trade_no, facts: [{ amountMinor: 10, currency: 'CNY' }] }] }
  expect(verdictOf({})).toMatchObject(paid)
  for (const change of [
    { fund_bill_list: fund_bill_list.replaceAll('"', '&quot;') },
    { fund_bill_list: fund_bill_list.replaceAll('"', '\\"') },
    { total_amount: '0.1' },
    { total_amount: '0.11' },
  ])
    expect(verdictOf(change)).toEqual(BAD_SIGNATURE)
  expect(verdictOf({ sign_type: 'RSA' })).toEqual(BAD_SIGN_TYPE)
  const byEmail = (email: string) =>
    createAlipay({
      ...{ appIds: new Set([app_id]), sellerIds: new Set([seller_id]), sellerEmails: new Set([email]) },
      keys,
    }).verify(request(encodeForm(v.params)), new Date())
  expect(byEmail(seller_email)).toMatchObject(paid)
  expect(byEmail('other@example.com')).toMatchObject({ rejection: { kind: 'wrong_recipient', field: 'seller_email' } })
  // The sender's own choice of SHA-1 over the same content, or sign_type among it, verifies nothing.
  const { sign = '', ...rest } = v.params
  for (const params of [
    { ...rest, sign_type: 'RSA', sign },
    { ...rest, signtype: 'RSA2', sign },
  ])
    expect(provider.verify(request(encodeForm(params)), new Date()).kind).toBe('refused')
})

test('yansongda: a sandbox notice with a plus in its subject, in certificate mode', () => {
  const v = vector('alipay/yansongda-sandbox-notify-plus') as { certificatePem: string; params: Record<string, string> }
  const key = certificateKey(v.certificatePem)
  const now = new Date(key.validToMs - 1_000)
  const verdictOf = (params: Record<string, string>, at = now) =>
    bound('9021000122682882', '2088721003899159', [key]).verify(request(encodeForm(params)), at)
  expect(verdictOf(v.params)).toMatchObject({
    messages: [
      {
        outTradeNo: '1703147160',
        facts: [
          {
            eventType: 'payment_succeeded',
            providerRef: 'alipay:2023122122001499160501589436',
            amountMinor: 1,
            eventTimeMs: Date.parse('2023-12-21T08:26:43Z'),
          },
        ],
      },
    ],
  })
  const { subject = '' } = v.params
  expect(verdictOf({ ...v.params, subject: subject.replace('+', ' ') })).toEqual(BAD_SIGNATURE)
  expect(verdictOf(v.params, new Date(key.validToMs + 1))).toMatchObject({ rejection: { kind: 'unknown_key' } })
  // Encoded twice: one decoding leaves escapes in the text.
  const twice = Object.fromEntries(Object.entries(v.params).map(([name, value]) => [name, encodeURIComponent(value)]))
  expect(verdictOf({ ...twice, sign: v.params['sign'] ?? '', sign_type: 'RSA2' })).toEqual(BAD_SIGNATURE)
})

test('yansongda: a return query decodes once and verifies; it is shown, and is no notice', () => {
  const v = vector('alipay/yansongda-sandbox-return') as { certificatePem: string; rawQuery: string }
  const key = certificateKey(v.certificatePem)
  const now = new Date(key.validToMs - 1_000)
  const provider = bound('9021000122682882', '2088721003899159', [key])
  expect(provider.verifyReturn?.(v.rawQuery, now)).toEqual({
    kind: 'verified',
    says: { outTradeNo: '1703141270', tradeNo: '2023122122001499160501586202', totalAmount: '0.01' },
  })
  expect(provider.verify(request(v.rawQuery), now)).toMatchObject({ rejection: { kind: 'malformed', field: 'method' } })
  for (const altered of [
    v.rawQuery.replace('total_amount=0.01', 'total_amount=0.10'),
    v.rawQuery.replace('out_trade_no=1703141270', 'out_trade_no=1703141271'),
    v.rawQuery.replaceAll('%2B', '+'),
    `${v.rawQuery}&tenant=7`,
  ])
    expect(provider.verifyReturn?.(altered, now)).toEqual(BAD_SIGNATURE)
  expect(provider.verifyReturn?.(v.rawQuery.replace('RSA2', 'RSA'), now)).toEqual(BAD_SIGN_TYPE)
  const { rawQuery } = v
  expect(bound('9021000122682883', '2088721003899159', [key]).verifyReturn?.(rawQuery, now)).toMatchObject({
    rejection: { kind: 'wrong_recipient', field: 'app_id' },
  })
  const form = parseForm(Buffer.from(decodeURIComponent(rawQuery)))
  expect(form && verifySignature(form, [key], now)).not.toBeUndefined()
})
