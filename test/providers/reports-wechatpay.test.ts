import { createPublicKey, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { CallbackRequest } from '../../src/providers/provider.ts'
import { REFUSAL_STATUS } from '../../src/providers/refusal-status.ts'
import { wechatpayAnswers } from '../../src/providers/wechatpay/answers.ts'
import { composePayment, composeRefund, refundAnswer } from '../../src/providers/wechatpay/compose.ts'
import { factsOfRefundQuery } from '../../src/providers/wechatpay/facts-of-query.ts'
import { sealEnvelope, signProbe, type Envelope } from '../../src/providers/wechatpay/sign.ts'
import { withoutHeader } from './shared-suite.ts'
import { otherPrivateKey, platform, platformPrivateKey } from './vectors.ts'
import {
  bound,
  certificate,
  direct,
  keys,
  notice,
  NOW,
  paid,
  payment,
  platformSigner,
  provider,
  PUBLIC_KEY_ID,
  publicKey,
  refundOf,
  signedBytes,
} from './wechatpay-subject.ts'

/** What people reported of other systems, by the report's number and thread; here it goes right. */
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000)
const refusalOf = (request: CallbackRequest, bound = provider, now = NOW) => {
  const verdict = bound.verify(request, now)
  return verdict.kind === 'refused' ? verdict.rejection.kind : verdict.kind
}
const withHeaders = (request: CallbackRequest, headers: Record<string, string>): CallbackRequest => ({
  ...request,
  headers: { ...request.headers, ...headers },
})
const withBody = (request: CallbackRequest, body: string | Buffer): CallbackRequest => ({
  ...request,
  rawBody: Buffer.from(body),
})
const parsed = ({ rawBody }: CallbackRequest) => JSON.parse(rawBody.toString()) as Record<string, unknown>
/** The envelope with its resource's fields changed, signed well. */
const withResource = (change: object) => {
  const envelope = parsed(notice())
  const resource = { ...(envelope['resource'] as object), ...change }
  return signedBytes(Buffer.from(JSON.stringify({ ...envelope, resource })))
}
const changed = (envelope: Envelope, change: object): CallbackRequest =>
  notice({ ...envelope, resource: { ...(envelope.resource as object), ...change } })
const statusOf = (request: CallbackRequest, bound = provider) => {
  const verdict = bound.verify(request, NOW)
  return verdict.kind === 'refused' ? REFUSAL_STATUS[verdict.rejection.kind] : 200
}

describe('signatures', () => {
  test('SIG-01 wechatpay-apache-httpclient#158: a body that was bound and printed anew, its keys in another order', () => {
    const request = notice()
    const { summary, ...others } = parsed(request)
    expect(refusalOf(withBody(request, JSON.stringify({ summary, ...others })))).toBe('bad_signature')
    expect(refusalOf(request)).toBe('verified')
  })

  test('SIG-03 wechatpay-go#230: a body with its keys sorted is refused, the one that was signed is taken', () => {
    const request = notice()
    const sorted = Object.fromEntries(Object.entries(parsed(request)).sort(([a], [b]) => (a < b ? -1 : 1)))
    expect(refusalOf(withBody(request, JSON.stringify(sorted)))).toBe('bad_signature')
    expect(statusOf(request)).toBe(200)
  })

  test('SIG-08 wechatpay-node-v3-ts#53: what decrypts is no proof of who sent it', () => {
    const signature = randomBytes(256).toString('base64')
    expect(refusalOf(withHeaders(notice(), { 'wechatpay-signature': signature }))).toBe('bad_signature')
  })

  test("SIG-09 wechatpay-php#123: another certificate's key under the right serial verifies nothing, and can be seen", () => {
    const otherKey = createPublicKey(otherPrivateKey)
    const mistaken = bound({ platformKeys: new Map([[PUBLIC_KEY_ID, { key: otherKey, validToMs: Infinity }]]) })
    expect(refusalOf(notice(), mistaken)).toBe('bad_signature')
    const [held, right] = [mistaken.inspect.keys[0], provider.inspect.keys.find(({ id }) => id === PUBLIC_KEY_ID)]
    expect(held?.id).toBe(right?.id)
    expect(held?.fingerprint).not.toBe(right?.fingerprint)
  })

  test("SIG-10 WxJava#2879: with a merchant's own certificate alone, WeChat Pay's serial is unknown and comes again", () => {
    const own = bound({ platformKeys: new Map([['2F'.repeat(20), { key: publicKey, validToMs: Infinity }]]) })
    expect(own.verify(notice(), NOW)).toEqual({
      kind: 'refused',
      rejection: { kind: 'unknown_key', keyId: PUBLIC_KEY_ID },
    })
    expect(statusOf(notice(), own)).toBe(503)
  })

  test('SIG-14 yansongda/pay#1131: no host is trusted unseen', () => {
    const forged = notice({}, { ...platformSigner, privateKey: otherPrivateKey })
    for (const host of ['localhost', '127.0.0.1', '::1'])
      for (const header of ['host', 'x-forwarded-host', 'forwarded'])
        expect(refusalOf(withHeaders(forged, { [header]: host }))).toBe('bad_signature')
  })
})

describe('bodies', () => {
  test('ENC-09 wechatpay-apache-httpclient#138: Chinese text is hashed as its bytes, and not as another charset', () => {
    const request = notice({ summary: '支付成功' })
    expect(refusalOf(request)).toBe('verified')
    const latin1 = withBody(request, Buffer.from(request.rawBody.toString('latin1'), 'utf8'))
    expect(refusalOf(latin1)).toBe('bad_signature')
  })

  test('ENC-11 WxJava#893: the XML of v2 is no notification of v3, signed or not', () => {
    const xml = '<xml><return_code>SUCCESS</return_code><out_trade_no>T1</out_trade_no></xml>'
    expect(statusOf(signedBytes(Buffer.from(xml)))).toBe(400)
    expect(refusalOf(withHeaders(withBody(notice(), xml), { 'content-type': 'text/xml' }))).toBe('bad_signature')
  })
})

describe('probes', () => {
  const probe = (form: Parameters<typeof signProbe>[3], envelope = payment): CallbackRequest => ({
    ...signProbe(sealEnvelope(envelope, platform.apiV3Key, NOW), platformSigner, NOW, form),
    repeatedHeaders: [],
  })

  test('PRB-01 WxJava#3288: a probe that is no base64 is counted apart and answered 401', () => {
    const request = probe('invalid_base64')
    expect((request.headers['wechatpay-signature'] ?? '').length % 4).toBe(1)
    expect(refusalOf(request)).toBe('signature_probe')
    expect(statusOf(request)).toBe(401)
    expect(JSON.parse(wechatpayAnswers.refusal({ kind: 'signature_probe' }).body)).toMatchObject({ code: 'FAIL' })
  })

  test('PRB-02 wechatpay-java#319: a probe of a transfer; the same notification, signed right, is taken', () => {
    const transfer = { ...payment, eventType: 'MCHTRANSFER.BATCH.FINISHED', originalType: 'mchtransfer_batch' }
    expect(statusOf(probe('another_signature', transfer))).toBe(401)
    expect(provider.verify(notice(transfer), at(15))).toMatchObject({
      messages: [{ messageId: payment.id, instead: { kind: 'no_effect' } }],
    })
  })

  test('PRB-03 wechatpay-java#229: a probe whose notification never comes again is found by the query', () => {
    // What the query finds has the identity that the notification would have had: wechatpay-identity.test.ts.
    expect(refusalOf(probe('another_signature', composeRefund('EV-1', direct, refundOf(1))))).toBe('signature_probe')
    expect(factsOfRefundQuery(refundAnswer(refundOf(1)), NOW)).toMatchObject([{ providerRef: 'wechatpay:5030201' }])
  })

  test('PRB-06 yansongda/pay#945: a right signature behind the mark is refused still', () => {
    const request = probe('right_signature')
    expect(refusalOf(request)).toBe('signature_probe')
    const signature = (request.headers['wechatpay-signature'] ?? '').slice('WECHATPAY/SIGNTEST/'.length)
    expect(refusalOf(withHeaders(request, { 'wechatpay-signature': signature }))).toBe('verified')
  })
})

describe('decryption', () => {
  test('DEC-01 wechatpay-node-v3-ts#70: a byte flipped in the text or in the tag opens nothing', () => {
    const { ciphertext } = parsed(notice())['resource'] as { ciphertext: string }
    const sealed = Buffer.from(ciphertext, 'base64')
    for (const index of [sealed.length - 1, 40]) {
      const flipped = Buffer.from(sealed)
      flipped[index] = (flipped[index] ?? 0) ^ 1
      expect(refusalOf(withResource({ ciphertext: flipped.toString('base64') }))).toBe('undecryptable')
    }
  })

  test('DEC-03 wechatpay-apache-httpclient#5: a key that was changed in the console only is our trouble: 503', () => {
    const former = notice({}, { ...platformSigner, apiV3Key: 'e'.repeat(32) })
    expect(refusalOf(former)).toBe('undecryptable')
    expect(statusOf(former)).toBe(503)
  })

  test('DEC-04 SKIT.FlurlHttpClient.Wechat#81: other associated data opens nothing', () =>
    expect(refusalOf(withResource({ associated_data: 'transactiox' }))).toBe('undecryptable'))

  test('DEC-06 gopay 1.5.123: a nonce that is not of 12 bytes is refused, and nothing falls over', () => {
    for (const nonce of ['', 'abc', 'n'.repeat(64), 'n'.repeat(16)]) expect(statusOf(withResource({ nonce }))).toBe(400)
  })
})

describe('amounts', () => {
  const amountOf = (request: CallbackRequest) => {
    const verdict = provider.verify(request, NOW)
    return verdict.kind === 'verified' ? verdict.messages[0].facts[0]?.amountMinor : verdict.rejection
  }

  test('AMT-05 better-wechatpay#2: fen are integers, also beyond 2^31', () => {
    const total = (value: unknown) => changed(payment, { amount: { total: value, currency: 'CNY' } })
    expect(amountOf(total(10_000_000_000))).toBe(10_000_000_000)
    for (const value of [100.5, 1.005, '100', 1e300, null])
      expect(amountOf(total(value))).toEqual({ kind: 'malformed', field: 'amount' })
  })

  test('AMT-10 yansongda/pay#685: 123456 fen are 123456 fen, without separators', () =>
    expect(amountOf(changed(payment, { amount: { total: 123456, currency: 'CNY' } }))).toBe(123_456))
})

describe('refunds', () => {
  const refund = composeRefund('EV-1', direct, refundOf(1))

  test('REF-03 wechatpay-java#213: refund_status in the notice, status in the query; neither is no success', () => {
    expect(refusalOf(notice(refund))).toBe('verified')
    for (const change of [
      { refund_status: undefined },
      { refund_status: undefined, status: 'SUCCESS' },
      { refund_status: null },
      { refund_status: 'success' },
      { refund_status: 'CLOSED' },
      { refund_status: 'toString' },
    ])
      expect(provider.verify(changed(refund, change), NOW)).toMatchObject({
        rejection: { kind: 'malformed', field: 'refund_status' },
      })
    expect(refusalOf(notice({ ...refund, eventType: 'REFUND.CLOSED' }))).toBe('malformed')
    const { status, ...answer } = refundAnswer(refundOf(1))
    expect(factsOfRefundQuery({ ...answer, status }, NOW)).toHaveLength(1)
    expect(factsOfRefundQuery({ ...answer, refund_status: status }, NOW)).toBe('status')
  })

  test('REF-05 hyperswitch#5298: a refund can be found by our own number for it', () => {
    const verdict = provider.verify(notice(refund), NOW)
    expect(verdict).toMatchObject({ messages: [{ outTradeNo: 'T1', facts: [{ detail: 'out_refund_no R-1' }] }] })
  })

  test("REF-11 hyperswitch#3751: WeChat Pay's number of the refund is kept from the notice", () => {
    const verdict = provider.verify(notice(refund), NOW)
    expect(verdict).toMatchObject({
      messages: [{ facts: [{ providerRef: 'wechatpay:5030201', paymentRef: 'wechatpay:420000202405201' }] }],
    })
  })

  test.for([
    ['refund_id', { refund_id: undefined }],
    ['refund_id', { refund_id: '5'.repeat(250) }],
    ['transaction_id', { transaction_id: 1 }],
    ['out_trade_no', { out_trade_no: '' }],
    ['amount', { amount: 30 }],
    ['amount.refund', { amount: { refund: -1 } }],
    ['amount.refund', { amount: { payer_refund: 30 } }],
    ['amount.currency', { amount: { refund: 1, currency: 'yuan' } }],
  ] as const)('a refund names its field that is wrong: %s', ([field, change]) =>
    expect(provider.verify(changed(refund, change), NOW)).toEqual({
      kind: 'refused',
      rejection: { kind: 'malformed', field },
    }),
  )

  test('a refund without a number of ours, or with one that cannot be kept, is a refund still', () => {
    for (const out_refund_no of [undefined, 5, 'R\n2', 'R'.repeat(300)]) {
      const verdict = provider.verify(changed(refund, { out_refund_no }), NOW)
      expect(verdict).toMatchObject({ messages: [{ facts: [{ detail: null }] }] })
    }
  })
})

describe('answers', () => {
  test('RSP-06 wechatpay-java#197: a refusal comes again and is then taken', () => {
    const request = notice()
    expect(statusOf(request, bound({ platformKeys: new Map() }))).toBe(503)
    expect(statusOf(request)).toBe(200)
  })

  test('RSP-07 forum 000e4c3d: whatever is not accepted is no 2xx', () => {
    for (const status of Object.values(REFUSAL_STATUS)) expect(status).toBeGreaterThanOrEqual(400)
    expect(wechatpayAnswers.refusal({ kind: 'broker_unavailable' })).toMatchObject({ status: 503 })
  })

  test('RSP-09 WxJava#2501: the answer is a JSON object after one parse, and no XML', () => {
    const { body, contentType } = wechatpayAnswers.success
    expect(contentType).toBe('application/json')
    expect(JSON.parse(body)).toEqual({ code: 'SUCCESS', message: '成功' })
    expect(JSON.parse(wechatpayAnswers.refusal({ kind: 'internal' }).body)).toMatchObject({ code: 'FAIL' })
  })

  test('RSP-12 easywechat#2875: what comes again after a success says the same, and so is a duplicate', () => {
    const first = notice()
    const again = notice({}, { ...platformSigner, serial: certificate.serialNumber })
    expect(again.headers).not.toEqual(first.headers)
    expect(provider.verify(again, at(60))).toEqual(provider.verify(first, NOW))
  })
})

describe('keys', () => {
  const serials = [certificate.serialNumber, PUBLIC_KEY_ID]

  test.for([
    ['CRT-01 wechatpay-apache-httpclient#26', 'OLD'],
    ['CRT-03 gopay#256', 'OLD'],
    ['CRT-03 gopay#256', 'NEW'],
  ] as const)('%s: the key is chosen by the serial %s, not by its age', ([, serial]) => {
    const rotating = bound({
      platformKeys: new Map([
        ['NEW', { key: createPublicKey(otherPrivateKey), validToMs: Infinity }],
        ['OLD', { key: publicKey, validToMs: at(86_400).getTime() }],
      ]),
    })
    const privateKey = serial === 'OLD' ? platformPrivateKey : otherPrivateKey
    expect(refusalOf(notice({}, { ...platformSigner, serial, privateKey }), rotating)).toBe('verified')
    const swapped = serial === 'OLD' ? 'NEW' : 'OLD'
    expect(refusalOf(notice({}, { ...platformSigner, serial: swapped, privateKey }), rotating)).toBe('bad_signature')
  })

  test('CRT-05 wechatpay-apache-httpclient#9: an expired certificate verifies nothing, the current one beside it does', () => {
    const platformKeys = new Map([
      ['EXPIRED', { key: publicKey, validToMs: at(-1).getTime() }],
      ['CURRENT', { key: publicKey, validToMs: at(1).getTime() }],
    ])
    const [expired, current] = ['EXPIRED', 'CURRENT'].map((serial) => notice({}, { ...platformSigner, serial }))
    expect(expired && refusalOf(expired, bound({ platformKeys }))).toBe('unknown_key')
    expect(current && refusalOf(current, bound({ platformKeys }))).toBe('verified')
  })

  test('CRT-06 wechatpay-go#263: a public key that is not configured is named, and comes again', () => {
    const certificatesOnly = bound({
      platformKeys: new Map([...keys.platformKeys].filter(([serial]) => serial !== PUBLIC_KEY_ID)),
    })
    expect(certificatesOnly.verify(notice(), NOW)).toMatchObject({ rejection: { keyId: PUBLIC_KEY_ID } })
    expect(statusOf(notice(), certificatesOnly)).toBe(503)
  })

  test('CRT-07 wechatpay-php#153: both families in turn, three of each', () => {
    for (const serial of [...serials, ...serials, ...serials])
      expect(refusalOf(notice({}, { ...platformSigner, serial }))).toBe('verified')
  })

  test('CRT-12 wechatpay-guzzle-middleware#1: a serial longer than 64 bits is whole', () =>
    expect(certificate.serialNumber).toMatch(/^[0-9A-F]{40}$/))

  test('CRT-13 wechatpay-apache-httpclient#140: the serial in decimal is another serial', () => {
    const decimal = BigInt(`0x${certificate.serialNumber}`).toString()
    expect(refusalOf(notice({}, { ...platformSigner, serial: decimal }))).toBe('unknown_key')
  })

  test('CRT-14 ruoyi-vue-pro#523: the order of an app that was given up verifies while its id is kept', () => {
    const kept = bound({ appids: new Set(['wx0000000000000002', direct.appid ?? '']) })
    const dropped = bound({ appids: new Set(['wx0000000000000002']) })
    expect(refusalOf(notice(composePayment('EV-1', direct, paid(1))), kept)).toBe('verified')
    expect(refusalOf(notice(composePayment('EV-1', direct, paid(1))), dropped)).toBe('wrong_recipient')
  })
})

describe('time', () => {
  test('CLK-01 yansongda/pay#1168: the same request is taken after 299 s and refused after 301', () => {
    expect(refusalOf(notice(), provider, at(299))).toBe('verified')
    expect(refusalOf(notice(), provider, at(301))).toBe('stale')
    expect(refusalOf(notice(), provider, at(-301))).toBe('stale')
  })

  test('CLK-02 wechatpay-java#324: its age is looked at before its signature', () => {
    const forged = notice({}, { ...platformSigner, privateKey: otherPrivateKey })
    expect(refusalOf(forged, provider, at(301))).toBe('stale')
  })

  test('CLK-04 mercadopago/sdk-python#142: milliseconds are no seconds, and "é" is no signature', () => {
    const timestamp = String(NOW.getTime())
    expect(refusalOf(withHeaders(notice(), { 'wechatpay-timestamp': timestamp }))).toBe('malformed')
    expect(refusalOf(withHeaders(notice(), { 'wechatpay-signature': 'é'.repeat(64) }))).toBe('bad_signature')
  })

  test.for(['abc', '1e9', '0x5f5e100', '-1', ' 1716182976', '+1716182976', 'NaN'])(
    'CLK-05 elizaOS#24389: %s is no time, and no reason to look away',
    (timestamp) => expect(refusalOf(withHeaders(notice(), { 'wechatpay-timestamp': timestamp }))).toBe('malformed'),
  )

  test('CLK-06 OwnPay#296: without a time nothing is taken', () => {
    const request = notice()
    const headers = withoutHeader(request, 'wechatpay-timestamp')
    expect(refusalOf({ ...request, headers })).toBe('missing_header')
  })
})
