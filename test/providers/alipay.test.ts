import { createPublicKey, createSign, X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { fenOfYuan } from '../../src/providers/alipay/amount.ts'
import { createAlipay } from '../../src/providers/alipay/create.ts'
import { encodeForm, signNotice, type NoticeFields } from '../../src/providers/alipay/sign.ts'
import { signedContent, signedNames } from '../../src/providers/alipay/signed-content.ts'
import { parseForm } from '../../src/providers/alipay/parse-form.ts'
import type { CallbackRequest } from '../../src/providers/provider.ts'
import { passesSharedSuite } from './shared-suite.ts'
import { otherPrivateKey, platform, platformPrivateKey } from './vectors.ts'

const NOW = new Date('2024-05-20T05:29:36Z')
const alipayKey = { key: createPublicKey(platform.wechatPayPublicKeyPem), validToMs: Infinity }
const bound = (appId: string, keys = [alipayKey]) =>
  createAlipay({ appIds: new Set([appId]), sellerIds: new Set(['2088000000000001']), keys })
const provider = bound('2021000000000001')

const payment = {
  gmt_create: '2024-05-20 13:29:22',
  charset: 'utf-8',
  subject: '会员+ 5% off & more=less',
  buyer_id: '2088000000000002',
  invoice_amount: '88.00',
  notify_id: '2024052000222132936068450559358070',
  fund_bill_list: '[{"amount":"88.00","fundChannel":"ALIPAYACCOUNT"}]',
  passback_params: '%7B%22id%22%3A1%7D',
  notify_type: 'trade_status_sync',
  trade_status: 'TRADE_SUCCESS',
  receipt_amount: '88.00',
  buyer_pay_amount: '80.00',
  app_id: '2021000000000001',
  sign_type: 'RSA2',
  seller_id: '2088000000000001',
  gmt_payment: '2024-05-20 13:29:35',
  notify_time: '2024-05-20 13:29:36',
  version: '1.0',
  out_trade_no: 'T1_2024',
  total_amount: '88.00',
  trade_no: '2024052022001468450512505578',
  // Alipay's own sample of a plain payment carries these.
  refund_fee: '0.00',
  gmt_close: '2024-05-20 13:29:35',
}
const without = (...fields: string[]) =>
  Object.fromEntries(Object.entries(payment).filter(([field]) => !fields.includes(field)))
const notice = (fields: NoticeFields = payment, key = platformPrivateKey): CallbackRequest => ({
  ...signNotice(fields, key),
  repeatedHeaders: [],
})
const request = (rawBody: Buffer | string): CallbackRequest => ({
  headers: {},
  repeatedHeaders: [],
  rawBody: Buffer.from(rawBody),
})
const verdictOf = (fields: NoticeFields) => provider.verify(notice(fields), NOW)
const message = {
  outTradeNo: 'T1_2024',
  messageType: 'TRADE_SUCCESS',
  messageId: payment.notify_id,
  facts: [
    {
      eventType: 'payment_succeeded' as const,
      providerRef: 'alipay:2024052022001468450512505578',
      paymentRef: null,
      amountMinor: 8800,
      currency: 'CNY',
      amountKind: 'none' as const,
      eventTimeMs: Date.parse('2024-05-20T05:29:35Z'),
      detail: null,
    },
  ],
}
const verified = { kind: 'verified', messages: [message] }
const refused = (kind: string, field?: string) => ({
  kind: 'refused',
  rejection: field === undefined ? { kind } : { kind, field },
})
/** Signs whatever pairs are in a form, in a body of any shape. */
function signedBytes(rawBody: Buffer): CallbackRequest {
  const form = parseForm(rawBody)
  const content = form === undefined ? rawBody : signedContent(form, signedNames(form))
  const sign = createSign('RSA-SHA256').update(content).sign(platformPrivateKey, 'base64')
  return rawBody.length === 0
    ? request('')
    : request(Buffer.concat([rawBody, Buffer.from(`&sign_type=RSA2&${encodeForm({ sign })}`)]))
}
const unsigned = encodeForm(without('sign_type'))

passesSharedSuite({
  name: 'alipay',
  now: NOW,
  provider,
  otherMerchant: bound('2021000000000002'),
  otherMerchantRefuses: 'wrong_recipient',
  genuine: notice(),
  message,
  forged: notice(payment, otherPrivateKey),
  signsTime: false,
  headers: {},
  bytesHaveSpellings: true,
  signed: signedBytes,
  withField: (field, value) => notice({ ...payment, [field]: String(value) }),
  identities: ['out_trade_no', 'trade_no'],
  wrongTypes: [
    // With the provider's name before it, it would be too long.
    ['trade_no', '4'.repeat(250)],
    ['total_amount', ''],
    ['total_amount', '88,00'],
    ['total_amount', '1,234.56'],
    ['total_amount', '88.005'],
    ['total_amount', '1e2'],
    ['total_amount', '-88.00'],
    ['total_amount', '８８'],
    ['total_amount', ' 88.00'],
    ['total_amount', '12345678901234.00'],
    ['charset', 'utf-16'],
    ['charset', 'x'],
  ],
  duplicateField: signedBytes(Buffer.from(`${unsigned}&total_amount=0.01`)),
  unmapped: [
    [
      'a partial refund',
      notice({ ...payment, gmt_refund: '2024-05-21 10:00:00.320', refund_fee: '10.00', out_biz_no: 'R-2' }),
      'T1_2024',
    ],
    ['a partial refund without its time', notice({ ...payment, refund_fee: '10.00' }), 'T1_2024'],
    [
      'a partial refund without its fee',
      notice({ ...without('refund_fee'), gmt_refund: '2024-05-21 10:00:00' }),
      'T1_2024',
    ],
    ['a refund whose fee nobody can read', notice({ ...payment, refund_fee: 'ten' }), 'T1_2024'],
    [
      'the end of a trade after a refund',
      notice({ ...payment, trade_status: 'TRADE_FINISHED', refund_fee: '10.00' }),
      'T1_2024',
    ],
    [
      'a full refund',
      notice({ ...payment, trade_status: 'TRADE_CLOSED', gmt_refund: '2024-05-21 10:00:00', refund_fee: '88.00' }),
      'T1_2024',
    ],
    ['a close of an unpaid trade', notice({ ...without('gmt_payment'), trade_status: 'TRADE_CLOSED' }), 'T1_2024'],
    [
      'a trade that waits for its buyer',
      notice({ ...without('gmt_payment'), trade_status: 'WAIT_BUYER_PAY' }),
      'T1_2024',
    ],
    ['a trade in another currency', notice({ ...payment, trans_currency: 'JPY' }), 'T1_2024'],
    ['a status that nobody has heard of', notice({ ...payment, trade_status: 'TRADE_PENDING' }), 'T1_2024'],
    ['a payment without its type', notice(without('notify_type')), 'T1_2024'],
    ['another type of notice', notice({ ...payment, notify_type: 'servicemarket_order_notify' }), 'T1_2024'],
    // The documented sample of a close by alipay.trade.close has these fields alone.
    [
      'a notice that names no order',
      notice({
        notify_type: 'trade_status_sync',
        notify_id: 'n1',
        notify_time: '2024-05-20 13:29:36',
        sign_type: 'RSA2',
      }),
      null,
    ],
  ],
})

describe('alipay', () => {
  test.for(['TRADE_SUCCESS', 'TRADE_FINISHED'])('a payment that is %s is the same fact', (trade_status) =>
    expect(verdictOf({ ...payment, trade_status })).toEqual({
      kind: 'verified',
      messages: [{ ...message, messageType: trade_status }],
    }),
  )

  test('the algorithm is ours to say: a notice under any other sign_type is refused, valid or not', () => {
    for (const sign_type of ['RSA', 'rsa2', 'HMAC', ''])
      expect(verdictOf({ ...payment, sign_type })).toEqual(refused('malformed', 'sign_type'))
    expect(verdictOf(without('sign_type'))).toEqual(refused('malformed', 'sign_type'))
    const form = parseForm(Buffer.from(unsigned))
    const sha1 = createSign('RSA-SHA1')
      .update(form ? signedContent(form, signedNames(form)) : '')
      .sign(platformPrivateKey, 'base64')
    for (const sign_type of ['RSA', 'RSA2'])
      expect(provider.verify(request(`${unsigned}&${encodeForm({ sign_type, sign: sha1 })}`), NOW).kind).toBe('refused')
  })

  test('needs a signature in its one spelling', () => {
    expect(provider.verify(request(`${unsigned}&sign_type=RSA2`), NOW)).toEqual(refused('bad_signature'))
    expect(provider.verify(request(`${unsigned}&sign_type=RSA2&sign=`), NOW)).toEqual(refused('bad_signature'))
    const body = notice().rawBody.toString()
    const sign = decodeURIComponent(/&sign=([^&]*)/.exec(body)?.[1] ?? '')
    for (const other of [sign.slice(0, -2), `${sign}=`, ` ${sign}`, sign.replaceAll('+', ' ')])
      if (other !== sign)
        expect(provider.verify(request(body.replace(/&sign=[^&]*/, `&${encodeForm({ sign: other })}`)), NOW).kind).toBe(
          'refused',
        )
  })

  test('decodes once: a plus, a percent, an equals sign and escaped JSON survive', () => {
    const texts = [
      '会员+',
      '5% off',
      'a=b&c',
      ' spaced ',
      '<a href="x">&amp;</a>',
      '%7B%22id%22%3A1%7D',
      '珊瑚+x+1,',
      '\\"',
      '',
    ]
    for (const subject of texts) expect(verdictOf({ ...payment, subject })).toEqual(verified)
    const escaped = encodeForm({ ...payment, fund_bill_list: payment.fund_bill_list.replaceAll('"', '&quot;') })
    const sign = /&sign=[^&]*/.exec(notice().rawBody.toString())?.[0] ?? ''
    expect(provider.verify(request(escaped + sign), NOW)).toEqual(refused('bad_signature'))
  })

  test('takes a space as + or %20, lower-case hex and unescaped bytes: the same content is the same notice', () => {
    const body = notice().rawBody.toString()
    const spellings = [
      body.replaceAll('+', '%20'),
      body.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
      body.replaceAll('%3A', ':'),
      body.replaceAll('_', '%5F'),
    ]
    for (const [index, spelling] of spellings.entries()) {
      expect(spelling).not.toBe(body)
      // Names are never escaped by Alipay; ours are not decoded.
      expect(provider.verify(request(spelling), NOW).kind).toBe(index === 3 ? 'refused' : 'verified')
    }
  })

  test('takes empty values as signed with their name, and as left out: sources conflict', () => {
    const empty = { ...payment, voucher_detail_list: '', body: '' }
    expect(verdictOf(empty)).toEqual(verified)
    const sign = /&sign=[^&]*/.exec(notice().rawBody.toString())?.[0] ?? ''
    expect(provider.verify(request(encodeForm(empty) + sign), NOW)).toEqual(verified)
    const emptied = { ...payment, total_amount: '' }
    expect(provider.verify(request(encodeForm(emptied) + sign), NOW)).toEqual(refused('bad_signature'))
    expect(verdictOf({ ...payment, gmt_refund: '', trans_currency: '' })).toEqual(verified)
  })

  test('reads GBK, whose bytes are what was signed', () => {
    // 会员订单 in GBK; the second byte of some characters is an ASCII letter or sign, as in 乗 (0x81 0x5C).
    const subject = Buffer.from('bbe1d4b1b6a9b5a5815c', 'hex')
    for (const charset of ['gbk', 'GBK', 'gb2312', 'GB18030'])
      expect(verdictOf({ ...payment, charset, subject })).toEqual(verified)
    const gbk = verdictOf({ ...payment, charset: 'gbk', out_trade_no: Buffer.from('b6a9b5a531', 'hex') })
    expect(gbk).toMatchObject({ messages: [{ outTradeNo: '订单1' }] })
    const notOfTheCharset = verdictOf({ ...payment, out_trade_no: Buffer.from('b6a9b5a531', 'hex') })
    expect(notOfTheCharset).toEqual(refused('malformed', 'out_trade_no'))
    expect(verdictOf({ ...without('charset'), out_trade_no: '订单1' })).toMatchObject({
      messages: [{ outTradeNo: '订单1' }],
    })
  })

  test.for([
    ['a broken escape', `${unsigned}%4`],
    ['a broken escape inside', `a=%zz&${unsigned}`],
    ['a part without a name', `=1&${unsigned}`],
    ['a part without a value', `abc&${unsigned}`],
    ['a name in brackets', `a[]=1&${unsigned}`],
    ['a name that is not ASCII', `订=1&${unsigned}`],
    ['too many fields', Array.from({ length: 201 }, (_, n) => `f${n}=1`).join('&')],
    ['no form at all', '{"total_amount":"88.00"}'],
    ['a query merged into the form twice', `${unsigned}&charset=utf-8`],
  ] as const)('refuses %s', ([, body]) =>
    expect(provider.verify(request(body), NOW)).toEqual(refused('malformed', 'body')),
  )

  test('a field that Alipay did not sign is no part of its notice', () => {
    const added = Buffer.concat([notice().rawBody, Buffer.from('&tenant=7')])
    expect(provider.verify(request(added), NOW)).toEqual(refused('bad_signature'))
    expect(provider.verify(request(`__proto__=x&constructor=y&${unsigned}`), NOW).kind).toBe('refused')
  })

  test.for(['app_id', 'seller_id'] as const)('is no payment of ours with another %s, or without one', (field) => {
    expect(verdictOf({ ...payment, [field]: '2088000000000009' })).toEqual(refused('wrong_recipient', field))
    expect(verdictOf(without(field))).toEqual(refused('wrong_recipient', field))
    expect(verdictOf({ ...payment, trade_status: 'TRADE_CLOSED', [field]: '2088000000000009' })).toEqual(
      refused('wrong_recipient', field),
    )
  })

  test('tries each key held, the expired ones excepted', () => {
    const stranger = { key: createPublicKey(otherPrivateKey), validToMs: Infinity }
    const certificate = new X509Certificate(platform.wechatPayCertificatePem)
    const expiring = { key: certificate.publicKey, validToMs: certificate.validToDate.getTime() }
    const after = new Date(expiring.validToMs + 1)
    expect(bound('2021000000000001', [stranger, expiring]).verify(notice(), NOW)).toEqual(verified)
    expect(bound('2021000000000001', [stranger, expiring]).verify(notice(), after)).toEqual(refused('bad_signature'))
    expect(bound('2021000000000001', [expiring]).verify(notice(), after)).toMatchObject({
      rejection: { kind: 'unknown_key' },
    })
  })

  test('takes the time of the notice, or ours, where the payment says none', () => {
    const timeOf = (fields: NoticeFields) => {
      const verdict = verdictOf(fields)
      return verdict.kind === 'verified' ? verdict.messages[0].facts[0]?.eventTimeMs : verdict
    }
    expect(timeOf({ ...payment, gmt_payment: '' })).toBe(Date.parse('2024-05-20T05:29:36Z'))
    expect(timeOf({ ...payment, gmt_payment: 'soon', notify_time: 'now' })).toBe(NOW.getTime())
  })
})

test.for([
  ['19.90', 1990],
  ['0.29', 29],
  ['8.8', 880],
  ['1.15', 115],
  ['4.35', 435],
  ['9.8', 980],
  ['1128.6', 112860],
  ['20', 2000],
  ['0.01', 1],
  ['0', 0],
  ['100000000.00', 10_000_000_000],
  ['9999999999999.99', 999_999_999_999_999],
  ['1.005', undefined],
  ['01.00', undefined],
  ['1.', undefined],
  ['.5', undefined],
  ['+1', undefined],
  ['1e2', undefined],
  ['1,234.56', undefined],
  ['10000000000000', undefined],
  ['１.00', undefined],
  ['1.00\n', undefined],
  ['', undefined],
] as const)('%s yuan are %s fen', ([yuan, fen]) => expect(fenOfYuan(yuan)).toBe(fen))
