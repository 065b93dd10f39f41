import { describe, expect, test } from 'vitest'
import { standardWebhooksAnswers } from '../../src/providers/status-answers.ts'
import { fact } from '../orders/build.ts'
import { Shop } from '../orders/shop.ts'
import {
  factsOf,
  NOW,
  payment,
  provider,
  refund,
  secret,
  signed,
  stranger,
  total,
  verdictOf,
  withData,
} from './standard-webhooks-subject.ts'

// Each test is one public report of somebody who got it wrong: repository and thread, and what is right.

const genuine = signed(payment)
const withHeader = (name: string, value: string, of = genuine) =>
  provider.verify({ ...of, headers: { ...of.headers, [name]: value } }, NOW)
const kindOf = (verdict: ReturnType<typeof provider.verify>) =>
  verdict.kind === 'refused' ? verdict.rejection.kind : verdict.kind
const amountOf = (json: string) => {
  const body = JSON.stringify(withData(payment, { amount: '@' })).replace('"@"', json)
  const verdict = verdictOf(body)
  return verdict.kind === 'verified' ? verdict.messages[0].facts[0]?.amountMinor : verdict.rejection.kind
}

describe('signature and time', () => {
  test('SIG-03 wechatpay-go#230: a body with its keys sorted is refused, the one that was signed is taken', () => {
    const sorted = JSON.stringify(Object.fromEntries(Object.entries(payment).sort(([a], [b]) => (a < b ? -1 : 1))))
    expect(sorted).not.toBe(genuine.rawBody.toString())
    expect(kindOf(provider.verify(genuine, NOW))).toBe('verified')
    expect(kindOf(provider.verify({ ...genuine, rawBody: Buffer.from(sorted) }, NOW))).toBe('bad_signature')
  })

  test('SIG-14 yansongda/pay#1131: no host is trusted unseen', () =>
    expect(kindOf(withHeader('host', 'localhost', signed(payment, [stranger])))).toBe('bad_signature'))

  test('CLK-04 mercadopago/sdk-python#142: milliseconds are no seconds, and "é" is no signature', () => {
    expect(kindOf(withHeader('webhook-timestamp', String(NOW.getTime())))).toBe('malformed')
    expect(kindOf(withHeader('webhook-signature', `v1,${'é'.repeat(64)} v1a,${'é'.repeat(88)}`))).toBe('bad_signature')
  })

  test.for(['abc', '1e9', '0x5f5e100', '-1', ' 1700000000', 'NaN'])(
    'CLK-05 eliza#24389: %s is no time, and so nothing is fresh',
    (time) => expect(kindOf(withHeader('webhook-timestamp', time))).toBe('malformed'),
  )

  test('CLK-06 OwnPay#296: without a time nothing is taken', () => {
    const { 'webhook-timestamp': time, ...headers } = genuine.headers
    expect(time).toBeDefined()
    expect(kindOf(provider.verify({ ...genuine, headers }, NOW))).toBe('missing_header')
  })

  test('CLK-08 workos-node#1579: five minutes are 300 seconds, of lead as of age', () => {
    const at = (offsetSec: number) => kindOf(provider.verify(genuine, new Date(NOW.getTime() + offsetSec * 1_000)))
    expect([-301, -300, 300, 301].map(at)).toEqual(['stale', 'verified', 'verified', 'stale'])
  })
})

describe('amounts', () => {
  test('AMT-01 weixin-java-tools#248: 19.90 is 1990, and so are the others that a float misses', () => {
    const texts = ['19.90', '0.29', '8.8', '1.15', '4.35', '9.8', '1128.6']
    const minor = [1_990, 29, 880, 115, 435, 980, 112_860]
    expect(texts.map(amountOf)).toEqual(minor)
    expect(texts.map((text) => amountOf(JSON.stringify(text)))).toEqual(minor)
  })

  test('AMT-03 cn-pay#2: 980.0000000000001 cents are no amount, and nothing is rounded', () =>
    expect(verdictOf(withData(refund, { refund_cents: 980.0000000000001 }))).toMatchObject({
      rejection: { kind: 'malformed', field: '/data/refund_cents' },
    }))

  test('AMT-05 better-wechatpay#2: a third decimal is refused, and ten thousand million cents are an amount', () => {
    expect(amountOf('1.005')).toBe('malformed')
    expect(amountOf('100000000.00')).toBe(10_000_000_000)
  })

  test('AMT-10 yansongda/pay#685: no separators of thousands', () => expect(amountOf('"1,234.56"')).toBe('malformed'))
})

describe('duplicates, order and answers', () => {
  test('DUP-10 woocommerce-tcom-payway#50: the same three times, with other ids, is one payment', () => {
    const facts = ['msg_1', 'msg_2', 'msg_2'].map((id) => provider.verify(signed(payment, [secret], id), NOW))
    const shop = new Shop([1])
    for (const verdict of facts)
      if (verdict.kind === 'verified')
        shop.play(verdict.messages[0].facts.map((one) => fact({ ...one, amountMinor: 10_000 })))
    shop.play([{ kind: 'create', orderId: 1 }])
    expect(shop.events.filter(({ kind }) => kind === 'ship')).toHaveLength(1)
    expect(shop.final(1).anomalies).toEqual([])
  })

  test('DUP-07 orion-key#39: a kind that is ignored is nothing that could stand in the way', () =>
    expect(verdictOf({ ...payment, type: 'payment.pending' })).toMatchObject({ messages: [{ facts: [] }] }))

  test('REF-01 best-pay-sdk#28: what tells a refund and its payment is both, the refund first', () =>
    expect(factsOf(total).map(({ eventType }) => eventType)).toEqual(['refund_succeeded', 'payment_succeeded']))

  test('REF-03 wechatpay-java#213: a field that is not where the mapping has it is malformed, and no default', () =>
    expect(verdictOf({ ...refund, data: { ...refund.data, refund_id: undefined } })).toMatchObject({
      rejection: { kind: 'malformed', field: '/data/refund_id' },
    }))

  test('UNK-05 paylinks#81: a message without an order is kept, and is no trouble', () =>
    expect(verdictOf({ type: 'ping' })).toMatchObject({ messages: [{ outTradeNo: null, facts: [] }] }))

  test('RSP-07 forum 000e4c3d: whatever is not accepted is no 2xx', () => {
    for (const kind of ['bad_signature', 'overloaded', 'broker_unavailable', 'internal'] as const)
      expect(standardWebhooksAnswers.refusal({ kind }).status).toBeGreaterThanOrEqual(400)
  })
})
