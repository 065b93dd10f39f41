import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Fact } from '../../src/orders/model.ts'
import { fenOfYuan } from '../../src/providers/yuan.ts'
import { alipayAnswers } from '../../src/providers/alipay/answers.ts'
import { factsOfRefundQuery } from '../../src/providers/alipay/facts-of-query.ts'
import { bareCloseNotice } from '../../src/providers/alipay/notice-fields.ts'
import { encodeForm, signNotice, type NoticeFields } from '../../src/providers/alipay/sign.ts'
import { SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { withFakeGateway, type FakeGateway } from '../helpers/fake-gateway.ts'
import { head, post, rawConnection } from '../helpers/http.ts'
import { until } from '../helpers/until.ts'
import { aPayment, fact } from '../orders/build.ts'
import { Shop } from '../orders/shop.ts'
import {
  APP_ID,
  factsOf,
  fullRefund,
  notice,
  NOW,
  partialRefund,
  payment,
  provider,
  refused,
  request,
  SELLER_ID,
  signOf,
  TRADE,
  TRADE_NO,
  unpaidClose,
  verdictOf,
  waiting,
  without,
} from './alipay-subject.ts'
import { otherPrivateKey } from './vectors.ts'

// Each test is one public report of somebody who got it wrong: repository and thread, and what is right.

/** The fields of the payment, and the signature of others: what a meddler in between makes of a notice. */
const withSignOf = (signed: NoticeFields, sent: NoticeFields) =>
  provider.verify(request(encodeForm(sent) + signOf(signed)), NOW)
const bill = '[{"amount":"0.01","fundChannel":"ALIPAYACCOUNT"}]'

describe('signature', () => {
  test('SIG-15 alipay-sdk-nodejs-all#45: escaped parameters and a lone percent verify, and nothing throws', () => {
    for (const change of [{ passback_params: '%7B%22id%22%3A1%7D' }, { subject: '5% off' }, { subject: '%' }])
      expect(verdictOf({ ...payment, ...change }).kind).toBe('verified')
  })

  test('SIG-16 yansongda/pay#681: a plus in a subject is a plus, and a space in its place another text', () => {
    const plus = { ...payment, subject: '会员+' }
    expect(verdictOf(plus).kind).toBe('verified')
    expect(notice(plus).rawBody.toString()).toContain('subject=%E4%BC%9A%E5%91%98%2B&')
    expect(withSignOf(plus, { ...plus, subject: '会员 ' })).toEqual(refused('bad_signature'))
  })

  test('SIG-18 best-pay-sdk#74: the padding of a signature and what looks like pairs in a value survive', () => {
    const pairs = { ...payment, subject: 'a=b&c', attach: '==' }
    const body = notice(pairs).rawBody.toString()
    expect(body).toMatch(/sign=[^&]*%3D%3D$/)
    expect(provider.verify(request(body), NOW).kind).toBe('verified')
    expect(provider.verify(request(body.replace(/%3D%3D$/, '')), NOW)).toEqual(refused('bad_signature'))
    expect(provider.verify(request(body.replace(/%3D%3D$/, '==')), NOW).kind).toBe('verified')
    expect(provider.verify(request(decodeURIComponent(body)), NOW).kind).toBe('refused')
  })

  test('SIG-19 alipay-sdk-nodejs-all#5: another pair’s key verifies nothing (and at start it is told: alipay-keys)', () =>
    expect(provider.verify(notice(payment, otherPrivateKey), NOW)).toEqual(refused('bad_signature')))

  test('SIG-21 yansongda/pay#749: backslashes that something added are no part of what was signed', () => {
    const plain = { ...payment, fund_bill_list: bill }
    expect(verdictOf(plain).kind).toBe('verified')
    const slashed = { ...plain, fund_bill_list: bill.replaceAll('"', '\\"') }
    expect(withSignOf(plain, slashed)).toEqual(refused('bad_signature'))
    expect(verdictOf(slashed).kind).toBe('verified') // Signed so, it is so.
  })

  test('SIG-28 yansongda/pay#180: quotes in fund_bill_list and escapes in passback_params together', () =>
    expect(verdictOf({ ...payment, fund_bill_list: bill, passback_params: '%7B%22a%22%3A%22b%20c%22%7D' }).kind).toBe(
      'verified',
    ))
})

describe('encoding', () => {
  test('ENC-04 alipay-easysdk#58: entities in place of quotes are refused', () => {
    const plain = { ...payment, fund_bill_list: bill }
    const escaped = { ...plain, fund_bill_list: bill.replaceAll('"', '&quot;') }
    expect(withSignOf(plain, escaped)).toEqual(refused('bad_signature'))
  })

  test('ENC-05 think-pay#2: spaces around a subject and & < > in it are signed as they are', () => {
    const spaced = { ...payment, subject: '  <b>A&B</b> > "c" \t' }
    expect(verdictOf(spaced).kind).toBe('verified')
    expect(withSignOf(spaced, { ...spaced, subject: spaced.subject.trim() })).toEqual(refused('bad_signature'))
  })

  test('ENC-06 omnipay-alipay#143: WAIT_BUYER_PAY without, TRADE_SUCCESS with fund_bill_list: both verify', () => {
    expect(verdictOf(without(waiting, 'fund_bill_list'))).toMatchObject({
      messages: [{ facts: [], instead: { kind: 'no_effect' } }],
    })
    expect(factsOf({ ...payment, fund_bill_list: bill })).toHaveLength(1)
  })

  test('ENC-13 chloerei/alipay#1: Chinese with a plus and a comma, in each charset', () => {
    for (const charset of ['utf-8', 'UTF-8', 'gbk', 'GBK', 'gb2312', 'gb18030'])
      expect(verdictOf({ ...payment, charset, subject: '珊瑚+x+1,' }).kind).toBe('verified')
  })
})

describe('amounts', () => {
  test('AMT-01 weixin-java-tools#248, AMT-03 cn-pay#2: fen of yuan are exact', () => {
    const yuan = ['19.90', '0.29', '8.8', '1.15', '4.35', '9.8', '1128.6']
    expect(yuan.map(fenOfYuan)).toEqual([1990, 29, 880, 115, 435, 980, 112_860])
    expect(yuan.map((total_amount) => amountsOf({ ...payment, total_amount }))).toEqual(
      yuan.map((one) => [fenOfYuan(one)]),
    )
  })

  test('AMT-05 better-wechatpay#2: a third decimal is refused, and large sums stay whole', () => {
    expect(verdictOf({ ...payment, total_amount: '1.005' })).toEqual(refused('malformed', 'total_amount'))
    expect(verdictOf({ ...partialRefund, refund_fee: '1.005' })).toEqual(refused('malformed', 'refund_fee'))
    expect(amountsOf({ ...payment, total_amount: '100000000.00' })).toEqual([10_000_000_000])
  })

  test('AMT-06 jeepay#81: another app or seller is refused, another sum is an anomaly and ships nothing', () => {
    for (const [field, value] of [
      ['app_id', '2021000000000009'],
      ['seller_id', '2088000000000009'],
    ] as const)
      expect(verdictOf({ ...payment, [field]: value })).toEqual(refused('wrong_recipient', field))
    expect(after(ofNotice({ ...hundred, total_amount: '0.01' }))).toMatchObject({ status: 'pending', shipments: [] })
  })

  test('AMT-08 mall#998: an order of 100.00 that was paid with 0.01 is an anomaly', () =>
    expect(after(ofNotice({ ...hundred, total_amount: '0.01' })).anomalies).toEqual(['amount_mismatch']))
})

/** A payment of the sum that the orders here have. */
const hundred = { ...payment, total_amount: '100.00' }
const refundedAll = { ...fullRefund, total_amount: '100.00', refund_fee: '100.00' }
const refundedPart = { ...partialRefund, total_amount: '100.00' }
const finished = { ...hundred, trade_status: 'TRADE_FINISHED', notify_id: 'n90', notify_time: '2024-08-18 03:00:00' }
function ofNotice(fields: NoticeFields): readonly Fact[] {
  const facts = factsOf(fields)
  if ('kind' in facts) throw new Error(`refused: ${JSON.stringify(facts)}`)
  return facts
}
const amountsOf = (fields: NoticeFields) => ofNotice(fields).map(({ amountMinor }) => amountMinor)
/** What becomes of an order that waits for its payment, when the notices come one by one. */
function after(...deliveries: (readonly Fact[])[]) {
  const shop = new Shop([1]).play([{ kind: 'create', orderId: 1 }])
  for (const facts of deliveries) shop.play(facts.map((one) => fact(one)))
  const { order, anomalies } = shop.row(1)
  return {
    status: order.status,
    paidAtMs: order.paidAtMs,
    anomalies: [...anomalies.values()].map(({ kind }) => kind),
    shipments: shop.events.filter(({ topic }) => topic === SHIPMENT_TOPIC).map(({ kind }) => kind),
    outcomes: shop.outcomes.slice(1).map(({ kind }) => kind),
  }
}

describe('duplicates, order, refunds', () => {
  test('DUP-01 ruoyi-vue-pro#1152: one order paid by WeChat Pay and by Alipay ships once, and the second is an anomaly', () => {
    const wechatpay = [aPayment('wechatpay:W1', { eventTimeMs: NOW.getTime() })]
    for (const both of [
      [wechatpay, ofNotice(hundred)],
      [ofNotice(hundred), wechatpay],
    ])
      expect(after(...both)).toMatchObject({ status: 'paid', anomalies: ['double_payment'], shipments: ['ship'] })
  })

  test('DUP-07 orion-key#39: WAIT_BUYER_PAY is nothing that could stand in the way of TRADE_SUCCESS', () => {
    expect(ofNotice(waiting)).toEqual([])
    expect(after(ofNotice(waiting), ofNotice(hundred))).toMatchObject({ status: 'paid', shipments: ['ship'] })
  })

  test('ORD-02 nearmerch.com#209: a close after the payment leaves the order paid, and a person looks', () =>
    expect(after(ofNotice(hundred), ofNotice(unpaidClose))).toMatchObject({
      status: 'paid',
      anomalies: ['closed_after_payment'],
      shipments: ['ship'],
    }))

  test('ORD-04 helei112g/payment#67: TRADE_FINISHED after a full refund ships nothing and touches nothing', () => {
    const fields = {
      ...refundedAll,
      trade_status: 'TRADE_FINISHED',
      notify_id: 'n9',
      notify_time: '2024-08-20 10:00:00',
    }
    for (const last of [fields, finished])
      expect(after(ofNotice(hundred), ofNotice(refundedAll), ofNotice(last))).toMatchObject({
        status: 'refunded',
        anomalies: [],
        shipments: ['ship', 'cancel'],
      })
  })

  test('ORD-05 yansongda/pay#301: TRADE_FINISHED 90 days later is the same payment, at its first time', () => {
    const { status, shipments, outcomes, paidAtMs } = after(ofNotice(hundred), ofNotice(finished))
    expect({ status, shipments }).toEqual({ status: 'paid', shipments: ['ship'] })
    expect(outcomes.at(-1)).toBe('duplicate')
    expect(paidAtMs).toBe(Date.parse('2024-05-20T05:29:35Z'))
  })

  test('ORD-08 helei112g/payment#183: the close of an unpaid trade closes its order, once', () => {
    const closed = after(ofNotice(unpaidClose), ofNotice({ ...unpaidClose, notify_id: 'n2' }))
    expect(closed).toMatchObject({ status: 'closed', anomalies: [], outcomes: ['applied', 'duplicate'] })
  })

  test('REF-01 best-pay-sdk#28: a refund notice on the payment’s address is no second payment', () => {
    const refunded = after(ofNotice(hundred), ofNotice(refundedPart))
    expect(refunded).toMatchObject({ status: 'paid', shipments: ['ship', 'refund'], anomalies: [] })
    expect(refunded.outcomes).toEqual(['applied', 'applied', 'duplicate'])
  })

  test('REF-06 alipay-easysdk#116: out_request_no comes back as out_biz_no', () =>
    expect(ofNotice({ ...refundedPart, out_biz_no: 'R-2' })[0]?.detail).toContain('out_biz_no R-2'))

  test('REF-09 yansongda/pay#436: a refund without a notice is learnt from its query', () => {
    const answer = {
      code: '10000',
      trade_no: TRADE_NO,
      out_request_no: 'R-1',
      refund_status: 'REFUND_SUCCESS',
      refund_amount: '100.00',
      gmt_refund_pay: '2024-05-22 10:00:00',
    }
    const facts = factsOfRefundQuery(answer)
    if (typeof facts === 'string') throw new Error(facts)
    expect(after(ofNotice(hundred), facts)).toMatchObject({ status: 'refunded', shipments: ['ship', 'cancel'] })
  })

  test('REF-10 alipay-sdk-php-all#5: TRADE_CLOSED after success is a full refund; with nothing known before, nothing ships', () => {
    expect(after(ofNotice(hundred), ofNotice(refundedAll))).toMatchObject({
      status: 'refunded',
      shipments: ['ship', 'cancel'],
      anomalies: [],
    })
    expect(after(ofNotice(refundedAll))).toMatchObject({ status: 'refunded', shipments: [], anomalies: [] })
    expect(after(ofNotice(without(refundedAll, 'refund_fee')))).toMatchObject({ status: 'refunded' })
  })
})

describe('answers and what is unknown', () => {
  test('RSP-01 laravel-pay#90, RSP-11 PayumBundle#307: 200 and exactly the seven bytes of success', () => {
    const { success } = alipayAnswers
    expect([success.status, Buffer.from(success.body).toString('hex')]).toEqual([200, '73756363657373'])
  })

  test('UNK-05 paylinks#81: the bare notice of a close verifies, names no order, and is no trouble', () =>
    expect(verdictOf(bareCloseNotice('n1', NOW))).toEqual({
      kind: 'verified',
      messages: [{ outTradeNo: null, messageType: 'trade_status_sync', messageId: 'n1', facts: [] }],
    }))
})

describe('over HTTP', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  let directory = ''
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'alipay-reports-'))
    writeFileSync(join(directory, 'alipay.pem'), publicKey.export({ type: 'spki', format: 'pem' }).toString())
    const alipay = { appIds: [APP_ID], sellerIds: [SELLER_ID], publicKeyFiles: ['alipay.pem'] }
    writeFileSync(join(directory, 'shop.json'), JSON.stringify({ alipay }))
  })
  afterAll(() => {
    rmSync(directory, { recursive: true })
  })
  const withGateway = (work: (fake: FakeGateway) => Promise<void>) => withFakeGateway(directory, () => NOW, work)
  const path = '/callbacks/alipay/shop'
  const signed = (fields: NoticeFields = payment) => ({ path, ...signNotice(fields, privateKey) })
  const TYPE = 'application/x-www-form-urlencoded; text/html; charset='

  test.for([
    ['ENC-01 body-parser#137', `${TYPE}UTF-8`],
    ['ENC-03 hela#22', `${TYPE}utf-8`],
    ['a plain form', 'application/x-www-form-urlencoded; charset=UTF-8'],
    ['none', ''],
  ] as const)('%s: the content type %s is taken', ([, type]) =>
    withGateway(async ({ gateway, published }) => {
      const headers: Record<string, string> = type === '' ? {} : { 'content-type': type }
      const answer = await post(gateway.port, { ...signed(), headers })
      expect([answer.status, answer.body.toString('hex')]).toEqual([200, '73756363657373'])
      expect(published).toMatchObject([{ outTradeNo: payment.out_trade_no, facts: [{ providerRef: TRADE }] }])
    }),
  )

  test('ENC-02 alipay-sdk-nodejs-all#15: an empty body is no success', () =>
    withGateway(async ({ gateway, published }) => {
      const answer = await post(gateway.port, { ...signed(), rawBody: Buffer.alloc(0) })
      expect([answer.status, answer.body.toString()]).toEqual([400, 'fail'])
      expect(published).toEqual([])
    }))

  test('SIG-20 alipay-easysdk#237: a query on the address is no part of what was signed', () =>
    withGateway(async ({ gateway, published }) => {
      const answer = await post(gateway.port, { ...signed(), path: `${path}?tenant=7&total_amount=0.01` })
      expect(answer.body.toString()).toBe('success')
      expect(published).toMatchObject([{ facts: [{ amountMinor: 8_800 }] }])
    }))

  test('MEM-01 open-mercato#4044: 2 MiB are refused unread, announced or in chunks', () =>
    withGateway(async ({ gateway, published }) => {
      const rawBody = Buffer.alloc(2 * 1_048_576, 'x')
      const announced = await post(gateway.port, { ...signed(), rawBody })
      expect([announced.status, announced.body.toString()]).toEqual([413, 'fail'])
      const chunked = await rawConnection(gateway.port)
      chunked.write(head(path, { 'transfer-encoding': 'chunked' }))
      for (let chunk = 0; chunk < 5; chunk++) chunked.write(`4000\r\n${'x'.repeat(0x4000)}\r\n`)
      await until('it is refused', () => /413[^]*fail/.test(chunked.received()))
      chunked.socket.destroy()
      expect(published).toEqual([])
    }))

  test('MEM-04 weixin-java-pay-demo#120: a body that breaks off is no success, and publishes nothing', () =>
    withGateway(async ({ gateway, published, logLines }) => {
      const { rawBody, headers } = signed()
      const broken = await rawConnection(gateway.port)
      broken.write(head(path, { ...headers, 'content-length': rawBody.length }))
      broken.socket.write(rawBody.subarray(0, -1), () => broken.socket.resetAndDestroy())
      await broken.closed
      await until('it is noted', () => logLines.some((line) => line.includes('incomplete_body')))
      expect(broken.received()).toBe('')
      expect(published).toEqual([])
    }))
})
