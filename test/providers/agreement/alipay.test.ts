import { createSign, generateKeyPairSync, verify, X509Certificate, type KeyObject } from 'node:crypto'
import { AlipaySdk } from 'alipay-sdk'
import { describe, expect, test } from 'vitest'
import { certSnOf } from '../../../src/providers/alipay/cert-sn.ts'
import { createAlipay } from '../../../src/providers/alipay/create.ts'
import { bareCloseNotice, returnFields, tradeNotice } from '../../../src/providers/alipay/notice-fields.ts'
import { parseForm } from '../../../src/providers/alipay/parse-form.ts'
import {
  encodeForm,
  signAnswer,
  signNotice,
  signReturn,
  type NoticeFields,
} from '../../../src/providers/alipay/sign.ts'
import { signedContent, signedNames } from '../../../src/providers/alipay/signed-content.ts'
import { selfSigned } from '../../../src/simulator/certificate.ts'
import { APP_ID, NOW, payment, request, SELLER_ID, without } from '../alipay-subject.ts'
import { platform, vector } from '../vectors.ts'

const alipay = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const app = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const derBase64 = (key: KeyObject) => key.export({ type: 'spki', format: 'der' }).toString('base64')
const privatePem = app.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const sdk = new AlipaySdk({
  appId: APP_ID,
  privateKey: privatePem,
  keyType: 'PKCS8',
  alipayPublicKey: derBase64(alipay.publicKey),
})
const bound = (key: KeyObject) =>
  createAlipay({
    appIds: new Set([APP_ID]),
    sellerIds: new Set([SELLER_ID]),
    sellerEmails: new Set(),
    keys: [{ id: 'publicKeyFiles.0', certSn: null, key, validToMs: Infinity }],
  })
const provider = bound(alipay.publicKey)
/** What a framework's parser hands to the SDK. */
const pairsOf = (body: Buffer | string) => Object.fromEntries(new URLSearchParams(body.toString()))
const theirsTakes = (body: Buffer | string) => sdk.checkNotifySignV2(pairsOf(body))
const oursTakes = (body: Buffer | string) => provider.verify(request(body), NOW).kind === 'verified'

const trade = {
  appId: APP_ID,
  sellerId: SELLER_ID,
  tradeNo: '2024052022001468450512505578',
  outTradeNo: 'T1',
  totalFen: 8_800,
  subject: '会员+ 5% off & more=less',
  createdAt: NOW,
  paidAt: NOW,
}
const refunded = { fen: 1_000, outBizNo: 'R-1', at: NOW }
const event = { notifyId: 'n1', at: NOW }
const notices: readonly (readonly [string, NoticeFields])[] = [
  ['a payment', tradeNotice(trade, { ...event, status: 'TRADE_SUCCESS' })],
  ['a finished trade', tradeNotice(trade, { ...event, status: 'TRADE_FINISHED' })],
  ['a partial refund', tradeNotice(trade, { ...event, status: 'TRADE_SUCCESS', refunded })],
  ['a full refund', tradeNotice(trade, { ...event, status: 'TRADE_CLOSED', refunded: { ...refunded, fen: 8_800 } })],
  ['a close', tradeNotice({ ...trade, paidAt: null }, { ...event, status: 'TRADE_CLOSED' })],
  ['a trade that waits', tradeNotice({ ...trade, paidAt: null }, { ...event, status: 'WAIT_BUYER_PAY' })],
  ['the bare close', bareCloseNotice('n1', NOW)],
  ['a certificate’s number', tradeNotice({ ...trade, certSn: '0'.repeat(32) }, { ...event, status: 'TRADE_SUCCESS' })],
  ['empty values', { ...payment, body: '', voucher_detail_list: '' }],
  ['awkward values', payment],
]

describe('alipay-sdk and we agree', () => {
  test.for(notices)('on %s that we sign, and on one altered letter', ([, fields]) => {
    const { rawBody } = signNotice(fields, alipay.privateKey)
    expect([theirsTakes(rawBody), oursTakes(rawBody)]).toEqual([true, true])
    const altered = rawBody.toString().replace('notify_id=', 'notify_id=x')
    expect(altered).not.toBe(rawBody.toString())
    expect([theirsTakes(altered), oursTakes(altered)]).toEqual([false, false])
    const byAnother = signNotice(fields, app.privateKey).rawBody
    expect([theirsTakes(byAnother), oursTakes(byAnother)]).toEqual([false, false])
  })

  test('on a return query', () => {
    const query = signReturn(returnFields(trade, NOW), alipay.privateKey)
    expect([theirsTakes(query), provider.verifyReturn?.(query, NOW).kind]).toEqual([true, 'verified'])
    const altered = query.replace('88.00', '0.01')
    expect([theirsTakes(altered), provider.verifyReturn?.(altered, NOW).kind]).toEqual([false, 'refused'])
  })

  test('on a published notice', () => {
    const v = vector('alipay/nodejs-trade-notify') as { publicKeyBase64Der: string; params: Record<string, string> }
    const theirs = new AlipaySdk({ appId: APP_ID, privateKey: privatePem, alipayPublicKey: v.publicKeyBase64Der })
    expect(theirs.checkNotifySignV2(v.params)).toBe(true)
    expect(theirs.checkNotifySignV2({ ...v.params, total_amount: '0.1' })).toBe(false)
  })

  test.for(['alipay.trade.query', 'alipay.trade.fastpay.refund.query'])('on an answer of %s that we sign', (method) => {
    const key = `${method.replaceAll('.', '_')}_response`
    for (const certSn of [undefined, '0'.repeat(32)]) {
      const text = signAnswer(method, { code: '10000', msg: '成功', total_amount: '88.00' }, alipay.privateKey, certSn)
      const { sign } = JSON.parse(text) as { sign: string }
      const check = (answer: string) => () => {
        sdk.checkResponseSign(answer, key, sign, 'trace')
      }
      expect(check(text)).not.toThrow()
      expect(check(text.replace('88.00', '88.01'))).toThrow()
    }
  })

  test('on the string of what it can sign itself: requests, which have sign_type in it and so are no notices', () => {
    const text = sdk.sdkExecute('alipay.trade.query', { bizContent: { outTradeNo: '会员+ 5% off & more=less' } })
    const form = parseForm(Buffer.from(text))
    if (form === undefined) throw new Error('no form')
    const sign = Buffer.from(pairsOf(text)['sign'] ?? '', 'base64')
    const content = signedContent(form, [...signedNames(form), 'sign_type'].sort())
    expect(verify('RSA-SHA256', content, app.publicKey, sign)).toBe(true)
    expect(bound(app.publicKey).verify(request(text), NOW)).toMatchObject({ rejection: { kind: 'bad_signature' } })
  })

  test('on the number of a certificate', () => {
    const { certificatePem } = vector('alipay/yansongda-sandbox-return') as { certificatePem: string }
    const [from, to] = [new Date('2024-01-01T00:00:00Z'), new Date('2034-01-01T00:00:00Z')]
    const serial = Buffer.from('7f1d3a529c0e5b7a8e442d1b7c9a0f36deadbeef', 'hex')
    const certificates = [
      certificatePem,
      certificatePem.slice(certificatePem.lastIndexOf('-----BEGIN')),
      platform.wechatPayCertificatePem,
      selfSigned(alipay.privateKey, 'Alipay', serial, from, to),
      selfSigned(alipay.privateKey, '支付宝(中国)', Buffer.from('01'.padEnd(40, '0'), 'hex'), from, to),
    ]
    const numbers = certificates.map((pem) => {
      const theirs = new AlipaySdk({
        appId: APP_ID,
        privateKey: privatePem,
        appCertContent: pem,
        alipayPublicCertContent: pem,
        alipayRootCertContent: certificatePem,
      })
      const certSn = certSnOf(new X509Certificate(pem))
      expect(certSn).toBe(theirs.config.alipayCertSn)
      return certSn
    })
    expect(new Set(numbers).size).toBe(certificates.length)
  })
})

/** Signs as somebody who holds a key would who chooses the algorithm, or what is in the string. */
function signedOtherwise(
  fields: Record<string, string>,
  algorithm: 'RSA-SHA1' | 'RSA-SHA256',
  drop: readonly string[],
) {
  const names = Object.keys(fields).filter((name) => !drop.includes(name))
  const content = names
    .sort()
    .map((name) => `${name}=${fields[name] ?? ''}`)
    .join('&')
  return encodeForm({ ...fields, sign: createSign(algorithm).update(content).sign(alipay.privateKey, 'base64') })
}

describe('where alipay-sdk is wrong for a trade’s notice', () => {
  test('it lets the sender choose SHA-1 by sign_type', () => {
    const weak = signedOtherwise({ ...payment, sign_type: 'RSA' }, 'RSA-SHA1', ['sign_type'])
    expect(theirsTakes(weak)).toBe(true)
    expect(provider.verify(request(weak), NOW)).toMatchObject({ rejection: { kind: 'malformed', field: 'sign_type' } })
  })

  test('it takes sign_type in the signed string too, and takes RSA2 for said where it is missing', () => {
    const within = signedOtherwise(payment, 'RSA-SHA256', [])
    expect(theirsTakes(within)).toBe(true)
    expect(provider.verify(request(within), NOW)).toMatchObject({ rejection: { kind: 'bad_signature' } })
    const { sign_type: type, ...untyped } = payment
    expect(type).toBe('RSA2')
    const missing = signedOtherwise(untyped, 'RSA-SHA256', [])
    expect(theirsTakes(missing)).toBe(true)
    expect(provider.verify(request(missing), NOW)).toMatchObject({ rejection: { field: 'sign_type' } })
  })

  test('its older checkNotifySign decodes a second time: escaped parameters fail, a lone % throws', () => {
    const body = (change: NoticeFields) =>
      signNotice({ ...payment, subject: '会员', ...change }, alipay.privateKey).rawBody
    const [escaped, percent] = [body({}), body({ passback_params: '', subject: '5% off' })]
    expect(sdk.checkNotifySign(pairsOf(escaped))).toBe(false)
    expect(() => sdk.checkNotifySign(pairsOf(percent))).toThrow(URIError)
    for (const notice of [escaped, percent]) expect([theirsTakes(notice), oursTakes(notice)]).toEqual([true, true])
  })

  test('it verifies text as UTF-8, so that no GBK notice with Chinese in it passes', () => {
    const gbk = tradeNotice({ ...trade, charset: 'gbk' }, { ...event, status: 'TRADE_SUCCESS' })
    const { rawBody } = signNotice(gbk, alipay.privateKey)
    expect(oursTakes(rawBody)).toBe(true)
    const form = parseForm(rawBody)
    const decoder = new TextDecoder('gbk')
    // Decoded as it must be, which URLSearchParams cannot.
    const pairs = [...(form?.spans ?? [])].map(([name, { start, end }]) => [
      name,
      decoder.decode(form?.bytes.subarray(start, end)),
    ])
    expect(Object.fromEntries(pairs)).toMatchObject({ subject: trade.subject })
    expect(sdk.checkNotifySignV2(Object.fromEntries(pairs))).toBe(false)
  })

  test('it takes a refund that was cut anew into a payment: the signed text has no escape', () => {
    const refund = {
      ...without(payment, 'refund_fee', 'gmt_close'),
      ...{ gmt_payment: '2024-05-20 13:29:35', gmt_refund: '2024-05-21 10:00:00.320' },
    } as Record<string, string>
    const sign = pairsOf(signNotice(refund, alipay.privateKey).rawBody)['sign'] ?? ''
    const { gmt_refund: at = '', ...rest } = refund
    const cut = encodeForm({ ...rest, gmt_payment: `${refund['gmt_payment'] ?? ''}&gmt_refund=${at}`, sign })
    expect(theirsTakes(cut)).toBe(true)
    expect(provider.verify(request(cut), NOW)).toMatchObject({
      messages: [{ outTradeNo: null, messageType: 'ambiguous gmt_payment', facts: [] }],
    })
  })

  test('it keeps empty values only: a notice signed without them, as the guide says, it refuses', () => {
    const guide = signedOtherwise({ ...payment, body: '' }, 'RSA-SHA256', ['sign_type', 'body'])
    expect([theirsTakes(guide), oursTakes(guide)]).toEqual([false, true])
  })

  test('it keeps alipay_cert_sn in the string; smartwalle/alipay leaves it out; both are taken', () => {
    const fields = { ...payment, alipay_cert_sn: '0'.repeat(32) }
    const out = signedOtherwise(fields, 'RSA-SHA256', ['sign_type', 'alipay_cert_sn'])
    const within = signedOtherwise(fields, 'RSA-SHA256', ['sign_type'])
    expect([theirsTakes(within), oursTakes(within)]).toEqual([true, true])
    expect([theirsTakes(out), oursTakes(out)]).toEqual([false, true])
    const both = signedOtherwise({ ...fields, body: '' }, 'RSA-SHA256', ['sign_type', 'alipay_cert_sn', 'body'])
    expect(oursTakes(both)).toBe(true)
  })
})
