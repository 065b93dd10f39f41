import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Aes, Formatter, Rsa } from 'wechatpay-axios-plugin'
import Pay from 'wechatpay-node-v3'
import type { CallbackRequest } from '../../../src/providers/provider.ts'
import { composePayment, composeRefund } from '../../../src/providers/wechatpay/compose.ts'
import { readBill } from '../read-bill.ts'
import { otherPrivateKey, platform, platformPrivateKey, vector } from '../vectors.ts'
import {
  direct,
  genuineNotices,
  notice,
  NOW,
  paid,
  platformSigner,
  provider,
  PUBLIC_KEY_ID,
  publicKey,
  refundOf,
  signedBytes,
} from '../wechatpay-subject.ts'

interface Envelope {
  event_type: string
  resource: { ciphertext: string; nonce: string; associated_data: string; original_type: string }
}
const envelopeOf = ({ rawBody }: CallbackRequest) => JSON.parse(rawBody.toString()) as Envelope
const header = ({ headers }: CallbackRequest, name: string) => headers[`wechatpay-${name}`] ?? ''
const kindOf = (request: CallbackRequest, now = NOW) => {
  const verdict = provider.verify(request, now)
  return verdict.kind === 'verified' ? verdict.kind : verdict.rejection.kind
}

describe('wechatpay-axios-plugin and we agree', () => {
  const verifies = (request: CallbackRequest) =>
    Rsa.verify(
      Formatter.response(header(request, 'timestamp'), header(request, 'nonce'), request.rawBody.toString()),
      header(request, 'signature'),
      publicKey,
    )

  test('on every kind that we sign and seal', () => {
    for (const { request, resource } of genuineNotices) {
      expect(verifies(request)).toBe(true)
      const { ciphertext, nonce, associated_data } = envelopeOf(request).resource
      expect(JSON.parse(Aes.AesGcm.decrypt(ciphertext, platform.apiV3Key, nonce, associated_data))).toEqual(resource)
    }
    expect(verifies(notice({}, { ...platformSigner, privateKey: otherPrivateKey }))).toBe(false)
  })

  test('on what it signs and seals', () => {
    const nonce = Formatter.nonce(12)
    const clear = JSON.stringify(composePayment('', direct, paid(1)).resource)
    const sealed = Aes.AesGcm.encrypt(clear, platform.apiV3Key, nonce, 'transaction')
    const resource = { original_type: 'transaction', algorithm: 'AEAD_AES_256_GCM', ciphertext: sealed, nonce }
    const rawBody = Buffer.from(
      JSON.stringify({
        id: 'EV-1',
        create_time: '2024-05-20T13:29:35+08:00',
        resource_type: 'encrypt-resource',
        event_type: 'TRANSACTION.SUCCESS',
        resource: { ...resource, associated_data: 'transaction' },
      }),
    )
    const timestamp = String(NOW.getTime() / 1_000)
    const signedNonce = Formatter.nonce()
    const request = {
      headers: {
        'wechatpay-timestamp': timestamp,
        'wechatpay-nonce': signedNonce,
        'wechatpay-serial': PUBLIC_KEY_ID,
        'wechatpay-signature': Rsa.sign(
          Formatter.response(timestamp, signedNonce, rawBody.toString()),
          platformPrivateKey,
        ),
      },
      repeatedHeaders: [],
      rawBody,
    }
    expect(provider.verify(request, NOW)).toMatchObject({
      messages: [{ outTradeNo: 'T1', facts: [{ providerRef: 'wechatpay:420000202405201', amountMinor: 100 }] }],
    })
  })

  test('that a wrong tag opens nothing', () => {
    const { ciphertext, nonce, associated_data } = envelopeOf(notice()).resource
    const bytes = Buffer.from(ciphertext, 'base64')
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
    expect(() => Aes.AesGcm.decrypt(bytes.toString('base64'), platform.apiV3Key, nonce, associated_data)).toThrow(
      'authenticate',
    )
  })

  test('on the rows of a bill', () => {
    const bytes = readFileSync(join(import.meta.dirname, '../../vectors/wechat-v2/bill.ALL.sanitised.csv'))
    const theirs = Formatter.castCsvBill(bytes) as { rows: object[]; summary: object }
    const ours = readBill(bytes.toString())
    expect(ours?.rows).toEqual(theirs.rows)
    expect(ours?.totals).toEqual(theirs.summary)
  })

  test('but it takes a signature in several spellings, where we take one: two texts would be one request', () => {
    const request = notice()
    const respelt = header(request, 'signature').replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ' ')
    const other = { ...request, headers: { ...request.headers, 'wechatpay-signature': respelt } }
    expect(verifies(other)).toBe(true)
    expect(kindOf(other)).toBe('bad_signature')
  })
})

describe('wechatpay-node-v3 and we agree', () => {
  /** Its certificates are those of the whole process, whichever merchant asks; here none is ever fetched. */
  class Sdk extends Pay {
    static hold(serial: string, pem: string) {
      Pay.certificates[serial] = pem
    }
  }
  Sdk.hold(PUBLIC_KEY_ID, platform.wechatPayPublicKeyPem)
  const sdk = new Sdk({
    appid: direct.appid ?? '',
    mchid: direct.mchid,
    serial_no: '00',
    publicKey: Buffer.from(platform.wechatPayCertificatePem),
    privateKey: Buffer.from(platformPrivateKey.export({ type: 'pkcs8', format: 'pem' })),
    key: platform.apiV3Key,
  })
  const verifies = (request: CallbackRequest, body: string | object = request.rawBody.toString()) =>
    sdk.verifySign({
      timestamp: header(request, 'timestamp'),
      nonce: header(request, 'nonce'),
      serial: header(request, 'serial'),
      signature: header(request, 'signature'),
      body,
    })

  test('on every kind that we sign and seal', async () => {
    for (const { request, resource } of genuineNotices) {
      expect(await verifies(request)).toBe(true)
      const { ciphertext, nonce, associated_data } = envelopeOf(request).resource
      expect(sdk.decipher_gcm(ciphertext, associated_data, nonce)).toEqual(resource)
    }
    expect(await verifies(notice({}, { ...platformSigner, privateKey: otherPrivateKey }))).toBe(false)
  })

  test('on what it signs', () => {
    const { rawBody, headers } = notice(composeRefund('EV-1', direct, refundOf(1)))
    const timestamp = headers['wechatpay-timestamp'] ?? ''
    const signature = sdk.sha256WithRsa(`${timestamp}\nnonce\n${rawBody.toString()}\n`)
    const theirs = { ...headers, 'wechatpay-nonce': 'nonce', 'wechatpay-signature': signature }
    expect(kindOf({ headers: theirs, repeatedHeaders: [], rawBody })).toBe('verified')
  })

  test('but it opens a resource that was tampered with: it never asks whether the tag is right (its #72)', () => {
    const request = notice()
    const { resource } = envelopeOf(request)
    const bytes = Buffer.from(resource.ciphertext, 'base64')
    const at = Buffer.from(JSON.stringify(genuineNotices[0]?.resource)).indexOf('123456,')
    bytes[at] = (bytes[at] ?? 0) ^ ('1'.charCodeAt(0) ^ '9'.charCodeAt(0))
    const tampered = { ...resource, ciphertext: bytes.toString('base64') }
    expect(sdk.decipher_gcm(tampered.ciphertext, tampered.associated_data, tampered.nonce)).toMatchObject({
      amount: { total: 923456 },
    })
    const body = Buffer.from(JSON.stringify({ ...envelopeOf(request), resource: tampered }))
    expect(kindOf(signedBytes(body))).toBe('undecryptable')
  })

  test('but it verifies what it was given parsed, printed anew, which fails where slashes were escaped', async () => {
    const v = vector('wechat-v3/yansongda-callback-escaped-slashes') as { body: string }
    const request = signedBytes(Buffer.from(v.body))
    expect(v.body).toContain('\\/')
    expect(await verifies(request)).toBe(true)
    expect(await verifies(request, JSON.parse(v.body) as object)).toBe(false)
    expect(kindOf(request)).not.toBe('bad_signature')
  })

  test('but it takes a notice of any age, so that one that was caught serves for ever', async () => {
    const request = notice()
    expect(await verifies(request)).toBe(true)
    expect(kindOf(request, new Date(NOW.getTime() + 301_000))).toBe('stale')
  })
})
