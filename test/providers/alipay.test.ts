import { createPublicKey, createSign, X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Fact } from '../../src/orders/model.ts'
import { factsOfPaymentQuery } from '../../src/providers/alipay/facts-of-query.ts'
import { fenOfYuan, yuanOfFen } from '../../src/providers/yuan.ts'
import { bareCloseNotice, returnFields } from '../../src/providers/alipay/notice-fields.ts'
import { parseForm } from '../../src/providers/alipay/parse-form.ts'
import { encodeForm, signReturn, type NoticeFields } from '../../src/providers/alipay/sign.ts'
import { signedContent, signedNames } from '../../src/providers/alipay/signed-content.ts'
import {
  alipayKey,
  APP_ID,
  bound,
  factsOf,
  fullRefund,
  message,
  notice,
  NOW,
  partialRefund,
  payment,
  paymentFact,
  provider,
  refused,
  request,
  SELLER_ID,
  signedBytes,
  signOf,
  TRADE,
  TRADE_NO,
  unpaidClose,
  unsigned,
  verdictOf,
  waiting,
  without,
} from './alipay-subject.ts'
import { passesSharedSuite } from './shared-suite.ts'
import { otherPrivateKey, platform, platformPrivateKey } from './vectors.ts'

const verified = { kind: 'verified', messages: [message] }
const aTrade = {
  ...{ appId: APP_ID, sellerId: SELLER_ID, tradeNo: TRADE_NO, outTradeNo: 'T9', totalFen: 8_800, subject: '会员' },
  ...{ createdAt: NOW, paidAt: NOW },
}

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
    ['refund_fee', 'ten'],
    ['refund_fee', '-1.00'],
    ['refund_fee', '10.005'],
    ['charset', 'utf-16'],
    ['charset', 'x'],
    ['notify_type', ''],
    ['method', 'alipay.trade.page.pay.return'],
  ],
  duplicateField: signedBytes(Buffer.from(`${unsigned}&total_amount=0.01`)),
  unmapped: [
    ['a trade in another currency', notice({ ...payment, trans_currency: 'JPY' }), 'T1_2024'],
    ['a status that nobody has heard of', notice({ ...payment, trade_status: 'TRADE_PENDING' }), 'T1_2024'],
    ['another type of notice', notice({ ...payment, notify_type: 'servicemarket_order_notify' }), 'T1_2024'],
    ['a notice that names no order', notice(bareCloseNotice('n1', NOW)), null],
  ],
  noEffect: [
    ['a trade that waits for its buyer', notice(waiting), 'T1_2024'],
    ['one that names no order', notice(without(waiting, 'out_trade_no')), null],
  ],
})

describe('alipay', () => {
  test('the signed query of a return, posted as a notice by the buyer who has it, was kept as a dead letter', () => {
    const returned = (change: NoticeFields = {}) =>
      request(signReturn({ ...returnFields(aTrade, NOW), ...change }, platformPrivateKey))
    const isNoNotice = { kind: 'refused', rejection: { kind: 'malformed', field: 'method' } }
    expect(provider.verify(returned(), NOW)).toMatchObject(isNoNotice)
    expect(provider.verify(returned({ notify_type: 'trade_status_sync' }), NOW)).toMatchObject(isNoNotice)
    expect(provider.verify(returned({ method: '' }), NOW)).toEqual(refused('malformed', 'notify_type'))
    expect(verdictOf({ ...payment, method: 'x' })).toMatchObject(isNoNotice)
    expect(verdictOf({ ...payment, method: '' })).toEqual(verified)
    expect(verdictOf(without(payment, 'notify_type'))).toEqual(refused('malformed', 'notify_type'))
  })

  test('a notice passed as a return', () => {
    const returned = (fields: NoticeFields) => provider.verifyReturn?.(signReturn(fields, platformPrivateKey), NOW)
    const query = returnFields(aTrade, NOW)
    expect(returned(query)).toMatchObject({ kind: 'verified', says: { outTradeNo: 'T9' } })
    for (const fields of [payment, { ...payment, method: '' }, without(query, 'method')])
      expect(returned(fields)).toEqual(refused('malformed', 'method'))
    expect(returned({ ...query, notify_type: 'trade_status_sync' })).toMatchObject(refused('malformed', 'notify_type'))
  })

  test.for(['TRADE_SUCCESS', 'TRADE_FINISHED'])('a payment that is %s is the same fact', (trade_status) =>
    expect(verdictOf({ ...payment, trade_status })).toEqual({
      kind: 'verified',
      messages: [{ ...message, messageType: trade_status }],
    }),
  )

  test('the algorithm is ours to say: a notice under any other sign_type is refused, valid or not', () => {
    for (const sign_type of ['RSA', 'rsa2', 'HMAC', ''])
      expect(verdictOf({ ...payment, sign_type })).toEqual(refused('malformed', 'sign_type'))
    expect(verdictOf(without(payment, 'sign_type'))).toEqual(refused('malformed', 'sign_type'))
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
    const sign = signOf(payment)
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
    const sign = signOf(payment)
    expect(provider.verify(request(encodeForm(empty) + sign), NOW)).toEqual(verified)
    const emptied = { ...payment, total_amount: '' }
    expect(provider.verify(request(encodeForm(emptied) + sign), NOW)).toEqual(refused('bad_signature'))
    expect(verdictOf({ ...payment, gmt_refund: '', trans_currency: '' })).toEqual(verified)
  })

  test('a genuine notice whose value reads as another field was refused for good; now a person sees it, and no fact', () => {
    const ambiguous = (field: string, messageId: string = payment.notify_id) => ({
      kind: 'verified',
      messages: [{ outTradeNo: null, messageType: `ambiguous ${field}`, messageId, facts: [] }],
    })
    /** Puts fields into the value of the one before them, in the order of the names; the signed text stays the same. */
    const cutAnew = (fields: NoticeFields, into: string, ...hidden: string[]) => {
      const more = hidden.map((name) => `&${name}=${String(fields[name])}`).join('')
      const cut = { ...without(fields, ...hidden), [into]: String(fields[into]) + more }
      return provider.verify(request(encodeForm(cut) + signOf(fields)), NOW)
    }
    // The signed text has no escape, so that it could say something else: a refund would be a payment, or a close.
    const refund = without(partialRefund, 'invoice_amount', 'passback_params', 'receipt_amount')
    expect(cutAnew(refund, 'out_trade_no', 'refund_fee')).toEqual(ambiguous('out_trade_no', partialRefund.notify_id))
    expect(cutAnew(refund, 'gmt_payment', 'gmt_refund')).toEqual(ambiguous('gmt_payment', partialRefund.notify_id))
    const closed = without(fullRefund, 'invoice_amount', 'passback_params', 'receipt_amount')
    expect(cutAnew(closed, 'gmt_payment', 'gmt_refund')).toEqual(ambiguous('gmt_payment', fullRefund.notify_id))
    // Another seller's, of which the number would be missed only.
    expect(cutAnew(payment, 'refund_fee', 'seller_id')).toEqual(refused('wrong_recipient', 'seller_id'))
    // Nothing is kept that is not signed, that is somebody else's, or that names no kind of notice.
    const odd = { ...payment, subject: 'x&total_amount=0.01' }
    expect(provider.verify(notice(odd, otherPrivateKey), NOW)).toEqual(refused('bad_signature'))
    expect(verdictOf({ ...odd, app_id: '2021000000000009' })).toEqual(refused('wrong_recipient', 'app_id'))
    expect(verdictOf({ ...odd, charset: 'utf-16' })).toEqual(refused('malformed', 'charset'))
    // And what cannot be told from it, though it was signed so.
    const subject = 'x&total_amount=0.01&trade_no=1&trade_status=TRADE_SUCCESS&z='
    expect(verdictOf({ ...payment, subject })).toEqual(ambiguous('subject'))
    expect(verdictOf(odd)).toEqual(ambiguous('subject'))
    for (const change of [
      { passback_params: 'a=1&b=2&user=total_amount' },
      { passback_params: 'a&total_amount' },
      { subject: '&' },
      { body: 'Q&A=1' },
    ])
      expect(factsOf({ ...payment, ...change })).toEqual([paymentFact])
  })

  test('a payment whose passback_params were made up became a refund, once cut anew', () => {
    const ambiguous = (field: string) => ({
      kind: 'verified',
      messages: [{ outTradeNo: null, messageType: `ambiguous ${field}`, messageId: payment.notify_id, facts: [] }],
    })
    const plain = without(payment, 'refund_fee', 'gmt_close')
    const cut = (sent: NoticeFields, read: NoticeFields) =>
      provider.verify(request(encodeForm({ ...read, passback_params: 'x', refund_fee: '88.00' }) + signOf(sent)), NOW)
    // The field that was really sent next is swallowed by one that nobody has heard of.
    const swallowing = { ...plain, passback_params: 'x&refund_fee=88.00&s=' }
    const swallowed = { ...without(plain, 'receipt_amount'), s: '&receipt_amount=88.00' }
    expect(cut(swallowing, swallowed)).toEqual(ambiguous('s'))
    const twice = { ...without(plain, 'receipt_amount'), rf: '', s: 'y&receipt_amount=88.00' }
    expect(cut({ ...plain, passback_params: 'x&refund_fee=88.00&rf=&s=y' }, twice)).toEqual(ambiguous('s'))
    // Nothing is, where the next one comes after refund_fee anyway: then there is no time of a refund.
    const short = without(plain, 'receipt_amount')
    expect(cut({ ...short, passback_params: 'x&refund_fee=88.00' }, short)).toEqual(ambiguous('passback_params'))
    // As they were sent they can be told from nothing either.
    expect(verdictOf(swallowing)).toEqual(ambiguous('passback_params'))
    for (const name of ['receipt_amount', 'buyer_id', 'point_amount', 'fund_bill_list', 'store_id', 'gmt_create'])
      expect(verdictOf({ ...payment, body: `x&${name}=1` })).toEqual(ambiguous('body'))
    // A refund that says when it was, and a fee of nothing, are what they were.
    expect(factsOf({ ...partialRefund, passback_params: 'x' })).toHaveLength(2)
    for (const refund_fee of ['0', '0.00', '']) expect(factsOf({ ...payment, refund_fee })).toEqual([paymentFact])
  })

  test('a currency that cannot be read is not taken for CNY', () => {
    for (const trade_status of ['TRADE_SUCCESS', 'TRADE_CLOSED', 'WAIT_BUYER_PAY'])
      expect(verdictOf({ ...payment, trade_status, trans_currency: Buffer.from('fffe', 'hex') })).toEqual(
        refused('malformed', 'trans_currency'),
      )
    expect(factsOf({ ...payment, trans_currency: 'CNY' })).toEqual([paymentFact])
  })

  test('a return that was cut anew is no notice, and no return either', () => {
    const fields = returnFields(aTrade, NOW)
    const sign = /&sign=[^&]*/.exec(signReturn(fields, platformPrivateKey))?.[0] ?? ''
    for (const [into, hidden] of [
      ['charset', 'method'],
      ['timestamp', 'total_amount'],
    ] as const) {
      const value = `${String(fields[into])}&${hidden}=${String(fields[hidden])}`
      const cut = encodeForm({ ...without(fields, hidden), [into]: value }) + sign
      expect(provider.verify(request(cut), NOW)).toMatchObject({ kind: 'refused' })
      expect(provider.verifyReturn?.(cut, NOW)).toMatchObject(refused('malformed', into))
    }
    // Nor is a notice a return by what lies in it.
    const notified = { ...payment, subject: 'x&method=y' }
    const cut = encodeForm({ ...without(notified, 'notify_type'), subject: 'x', method: 'y' })
    expect(provider.verifyReturn?.(cut + signOf(notified), NOW)).toMatchObject({ kind: 'refused' })
    expect(factsOf(notified)).toEqual([paymentFact])
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
    expect(verdictOf({ ...without(payment, 'charset'), out_trade_no: '订单1' })).toMatchObject({
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
    expect(verdictOf(without(payment, field))).toEqual(refused('wrong_recipient', field))
    expect(verdictOf({ ...payment, trade_status: 'TRADE_CLOSED', [field]: '2088000000000009' })).toEqual(
      refused('wrong_recipient', field),
    )
  })

  test('tries each key held, the expired ones excepted', () => {
    const stranger = { ...alipayKey, id: 'publicKeyFiles.1', key: createPublicKey(otherPrivateKey) }
    const certificate = new X509Certificate(platform.wechatPayCertificatePem)
    const expiring = { ...alipayKey, key: certificate.publicKey, validToMs: certificate.validToDate.getTime() }
    const after = new Date(expiring.validToMs + 1)
    expect(bound(APP_ID, [stranger, expiring]).verify(notice(), NOW)).toEqual(verified)
    expect(bound(APP_ID, [stranger, expiring]).verify(notice(), after)).toEqual(refused('bad_signature'))
    expect(bound(APP_ID, [expiring]).verify(notice(), after)).toMatchObject({
      rejection: { kind: 'unknown_key' },
    })
  })

  test('a partial refund is the figure so far and its payment, the refund first', () => {
    const refund = {
      eventType: 'refund_succeeded',
      providerRef: `${TRADE}/refunded/1000`,
      paymentRef: TRADE,
      amountMinor: 1000,
      currency: 'CNY',
      amountKind: 'cumulative',
      eventTimeMs: Date.parse('2024-05-21T02:00:00.320Z'),
      detail: 'out_biz_no R-1; TRADE_SUCCESS',
    }
    expect(factsOf(partialRefund)).toEqual([refund, paymentFact])
    expect(factsOf({ ...partialRefund, trade_status: 'TRADE_FINISHED' })).toEqual([
      { ...refund, detail: 'out_biz_no R-1; TRADE_FINISHED' },
      paymentFact,
    ])
    expect(factsOf(without(partialRefund, 'out_biz_no'))).toEqual([{ ...refund, detail: 'TRADE_SUCCESS' }, paymentFact])
    expect(factsOf({ ...partialRefund, out_biz_no: 'a\0b' })).toMatchObject([
      { detail: 'out_biz_no a b; TRADE_SUCCESS' },
      {},
    ])
    // Without the payment's time it is not known to have been before the order expired, say.
    expect(factsOf(without(partialRefund, 'gmt_payment'))).toEqual([refund])
  })

  test('a refund is told by its time or by a sum, and both alone', () => {
    const noticedMs = Date.parse('2024-05-21T02:00:00Z')
    expect(factsOf(without(partialRefund, 'gmt_refund', 'passback_params'))).toMatchObject([
      { amountKind: 'cumulative', amountMinor: 1000, eventTimeMs: noticedMs },
      {},
    ])
    for (const refund_fee of ['ten', '1e1', '-0.00', Buffer.from('ff', 'hex')])
      expect(factsOf({ ...partialRefund, refund_fee })).toEqual(refused('malformed', 'refund_fee'))
    expect(factsOf({ ...fullRefund, refund_fee: '0.00' })).toEqual(refused('malformed', 'refund_fee'))
    for (const refund_fee of ['0', '0.0', '0.00'])
      expect(factsOf({ ...payment, refund_fee, gmt_refund: '' })).toEqual([paymentFact])
  })

  test('a refund that does not say how much kept its payment out, each time it came', () => {
    const detail = 'gmt_refund 2024-05-21 10:00:00.320 without a refund_fee'
    const told = [{ ...paymentFact, detail: `${detail}; out_biz_no R-1` }]
    for (const trade_status of ['TRADE_SUCCESS', 'TRADE_FINISHED']) {
      for (const refund_fee of ['0.00', '0', ''])
        expect(factsOf({ ...partialRefund, trade_status, refund_fee })).toEqual(told)
      expect(factsOf({ ...without(partialRefund, 'refund_fee'), trade_status })).toEqual(told)
    }
    expect(factsOf(without(partialRefund, 'refund_fee', 'out_biz_no'))).toEqual([{ ...paymentFact, detail }])
    expect(factsOf(without(partialRefund, 'refund_fee', 'gmt_payment'))).toMatchObject([
      { eventType: 'payment_succeeded', eventTimeMs: Date.parse('2024-05-21T02:00:00Z') },
    ])
    expect(factsOf({ ...partialRefund, refund_fee: '', total_amount: 'x' })).toEqual(
      refused('malformed', 'total_amount'),
    )
  })

  test('a full refund is no close: TRADE_CLOSED with a refund in it', () => {
    const refund = {
      eventType: 'refund_succeeded',
      providerRef: `${TRADE}/refunded/8800`,
      amountKind: 'cumulative',
      amountMinor: 8800,
      eventTimeMs: Date.parse('2024-05-22T02:00:00.999Z'),
      detail: 'out_biz_no R-2; TRADE_CLOSED',
    }
    expect(factsOf(fullRefund)).toMatchObject([refund, paymentFact])
    expect(factsOf(without(fullRefund, 'refund_fee'))).toMatchObject([refund, paymentFact])
    expect(factsOf(without(fullRefund, 'gmt_refund', 'gmt_close', 'passback_params'))).toMatchObject([
      { ...refund, eventTimeMs: Date.parse('2024-05-21T02:00:00Z') },
      paymentFact,
    ])
    // More than was paid is for the order to judge.
    expect(factsOf({ ...fullRefund, refund_fee: '99.00' })).toMatchObject([{ amountMinor: 9900 }, paymentFact])
  })

  test('a trade that was paid and is closed is refunded in full, as its query says too', () => {
    // Closed means that nobody paid in time, or that all was given back; the time of a payment rules out the first.
    const closed = without({ ...unpaidClose, gmt_payment: payment.gmt_payment }, 'refund_fee')
    const asked = factsOfPaymentQuery(
      {
        ...{ code: '10000', trade_no: payment.trade_no, trade_status: 'TRADE_CLOSED' },
        ...{ total_amount: '88.00', send_pay_date: payment.gmt_payment },
      },
      NOW,
    )
    const identities = (facts: unknown) =>
      (facts as Fact[]).map(({ eventType, providerRef, amountMinor, amountKind }) =>
        [eventType, providerRef, amountMinor, amountKind].join(' '),
      )
    expect(identities(factsOf(closed))).toEqual(identities(asked))
    expect(factsOf(closed)).toMatchObject([
      { eventType: 'refund_succeeded', amountMinor: 8800, detail: 'TRADE_CLOSED' },
      paymentFact,
    ])
    expect(factsOf({ ...closed, refund_fee: '0.00' })).toEqual(refused('malformed', 'refund_fee'))
    expect(factsOf({ ...closed, total_amount: '' })).toEqual(refused('malformed', 'total_amount'))
  })

  test('a close of an unpaid trade is one, with or without a fee of nothing', () => {
    const closed = {
      eventType: 'provider_closed',
      providerRef: TRADE,
      paymentRef: null,
      amountMinor: 0,
      currency: '',
      amountKind: 'none',
      eventTimeMs: Date.parse('2024-05-20T06:00:00Z'),
      detail: null,
    }
    for (const change of [{}, { refund_fee: '0.00' }, { refund_fee: '', gmt_refund: '' }, { total_amount: '' }])
      expect(factsOf({ ...unpaidClose, ...change })).toEqual([closed])
    expect(factsOf(without(unpaidClose, 'gmt_close'))).toEqual([
      { ...closed, eventTimeMs: Date.parse('2024-05-20T05:29:36Z') },
    ])
    expect(factsOf(without(unpaidClose, 'trade_no'))).toEqual(refused('malformed', 'trade_no'))
  })

  test('a trade that waits for its buyer changes nothing, and says so', () => {
    expect(verdictOf(waiting)).toEqual({
      kind: 'verified',
      messages: [{ ...message, messageType: 'WAIT_BUYER_PAY', facts: [], instead: { kind: 'no_effect' } }],
    })
  })

  test.for([
    ['a refund', partialRefund],
    ['a full refund', fullRefund],
    ['a close', unpaidClose],
    ['a trade that waits', waiting],
  ] as const)('%s of another app or seller is none of ours, nor one of nobody', ([, fields]) => {
    for (const field of ['app_id', 'seller_id']) {
      expect(verdictOf({ ...fields, [field]: '2088000000000009' })).toEqual(refused('wrong_recipient', field))
      expect(verdictOf(without(fields, field))).toEqual(refused('wrong_recipient', field))
    }
  })

  test('where an e-mail is configured it must be right, and never stands for the number', () => {
    const email = 'shop@example.com'
    const kindOf = (fields: NoticeFields, emails: string[]) =>
      bound(APP_ID, [alipayKey], emails).verify(notice(fields), NOW)
    const foreign = refused('wrong_recipient', 'seller_email')
    expect(kindOf({ ...payment, seller_email: 'other@example.com' }, [])).toEqual(verified)
    expect(kindOf({ ...payment, seller_email: email }, [email])).toEqual(verified)
    expect(kindOf(payment, [email])).toEqual(verified)
    expect(kindOf({ ...payment, seller_email: 'other@example.com' }, [email])).toEqual(foreign)
    expect(kindOf({ ...without(payment, 'seller_id'), seller_email: email }, [email])).toEqual(
      refused('wrong_recipient', 'seller_id'),
    )
    expect(kindOf(without(payment, 'seller_id'), [email])).toEqual(refused('wrong_recipient', 'seller_id'))
    expect(kindOf({ ...payment, seller_id: '2088000000000009', seller_email: email }, [email])).toEqual(
      refused('wrong_recipient', 'seller_id'),
    )
  })

  test('takes the time of the notice, or ours, where the payment says none', () => {
    const timeOf = (fields: NoticeFields) => {
      const facts = factsOf(fields)
      return 'kind' in facts ? facts : facts[0]?.eventTimeMs
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

test.for([0, 1, 99, 100, 1990, 999_999_999_999_999])('%s fen are written with two decimals', (fen) => {
  expect(yuanOfFen(fen)).toMatch(/^\d+\.\d\d$/)
  expect(fenOfYuan(yuanOfFen(fen))).toBe(fen)
})
