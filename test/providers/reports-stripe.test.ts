import { describe, expect, test } from 'vitest'
import type { Fact } from '../../src/orders/model.ts'
import { stripeAnswers } from '../../src/providers/status-answers.ts'
import { factsOfPaymentIntent } from '../../src/providers/stripe/facts-of-query.ts'
import { SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { AMOUNT, aPayment, fact } from '../orders/build.ts'
import { Shop, type Step } from '../orders/shop.ts'
import {
  charge,
  eventOf,
  failedIntent,
  factsOf,
  intent,
  NOW,
  PAID_AT,
  provider,
  refund,
  seconds,
  signed,
  stranger,
  verdictOf,
} from './stripe-subject.ts'

// Each test is one public report of somebody who got it wrong: repository and thread, and what is right.

const event = eventOf('payment_intent.succeeded', intent)
const genuine = signed(event)
const header = genuine.headers['stripe-signature'] ?? ''
const withHeader = (value: string) =>
  provider.verify({ ...genuine, headers: { ...genuine.headers, 'stripe-signature': value } }, NOW)
const kindOf = (verdict: ReturnType<typeof provider.verify>) =>
  verdict.kind === 'refused' ? verdict.rejection.kind : verdict.kind

describe('signature and time', () => {
  test('SIG-01 wechatpay-apache-httpclient#158: an event that was parsed and printed anew is refused', () => {
    const pretty = signed(JSON.stringify(event, undefined, 2))
    expect(provider.verify(pretty, NOW).kind).toBe('verified')
    const reprinted = { ...pretty, rawBody: Buffer.from(JSON.stringify(event)) }
    expect(kindOf(provider.verify(reprinted, NOW))).toBe('bad_signature')
  })

  test('SIG-14 yansongda/pay#1131: no host is trusted unseen', () => {
    const forged = signed(event, [stranger])
    const headers = { ...forged.headers, host: 'localhost', 'x-forwarded-host': 'localhost' }
    expect(kindOf(provider.verify({ ...forged, headers }, NOW))).toBe('bad_signature')
  })

  test('CLK-04 mercadopago/sdk-python#142: milliseconds are no seconds, and "é" is no signature', () => {
    expect(kindOf(withHeader(header.replace(/t=(\d+)/, 't=$1000')))).toBe('malformed')
    expect(kindOf(withHeader(header.replace(/v1=.*/, `v1=${'é'.repeat(64)}`)))).toBe('bad_signature')
  })

  test.for(['abc', '', '1e9', '0x5f5e100', '-1', ' 1700000000', 'NaN', 'Infinity'])(
    'CLK-05 eliza#24389: t=%s is no time, and so nothing is fresh',
    (time) => {
      // Signed over just that text, as who knows the secret could.
      const odd = signed(event)
      expect(kindOf(withHeader(header.replace(/t=\d+/, `t=${time}`)))).toBe('malformed')
      expect(kindOf(provider.verify({ ...odd, headers: { 'stripe-signature': `t=${time}` } }, NOW))).toBe('malformed')
    },
  )

  test('CLK-06 OwnPay#296: without a time nothing is taken', () =>
    expect(kindOf(withHeader(header.replace(/t=\d+,/, '')))).toBe('malformed'))

  test('CLK-08 workos-node#1579: five minutes are 300 seconds, of lead as of age', () => {
    const at = (offsetSec: number) => kindOf(provider.verify(genuine, new Date(NOW.getTime() + offsetSec * 1_000)))
    expect([-301, -300, 300, 301].map(at)).toEqual(['stale', 'verified', 'verified', 'stale'])
  })
})

const CNY = { currency: 'cny' }
const paid = factsOf('payment_intent.succeeded', { ...intent, ...CNY, amount_received: AMOUNT })
const failed = factsOf('payment_intent.payment_failed', failedIntent)
const CREATE: Step = { kind: 'create', orderId: 1 }
const played = (...facts: readonly Fact[]) => new Shop([1]).play([CREATE, ...facts.map((one) => fact(one))])
const shipped = ({ events }: Shop) => events.filter(({ topic }) => topic === SHIPMENT_TOPIC).map(({ kind }) => kind)

describe('duplicates and order', () => {
  test('DUP-01 ruoyi-vue-pro#1152: one order paid by WeChat Pay and by Stripe ships once, and a person hears of it', () => {
    const shop = played(aPayment('wechatpay:W1'), ...paid)
    expect(shipped(shop)).toEqual(['ship'])
    expect(shop.final(1).anomalies).toEqual([`double_payment:payment_succeeded/stripe:${intent.id}: open`])
  })

  test('DUP-03 medusa#13301: a webhook and a query at the same moment are one payment', () => {
    const queried = factsOfPaymentIntent({ ...intent, ...CNY, amount_received: AMOUNT }, NOW)
    const shop = played(...paid, ...(typeof queried === 'string' ? [] : queried))
    expect(shipped(shop)).toEqual(['ship'])
    expect(shop.outcomes.map(({ kind }) => kind)).toContain('duplicate')
  })

  test('DUP-05 medusa#4798, DUP-10 woocommerce-tcom-payway#50: three deliveries are one shipping, and no conflict', () => {
    const again = signed(event)
    const messages = [genuine, again, again].map((request) => provider.verify(request, NOW))
    expect(new Set(messages.map((verdict) => JSON.stringify(verdict))).size).toBe(1)
    const shop = played(...paid, ...paid, ...paid)
    expect(shipped(shop)).toEqual(['ship'])
    expect(shop.final(1).anomalies).toEqual([])
  })

  test('DUP-07 orion-key#39: neither a failed attempt nor a pending refund stands in the way of what succeeds', () => {
    expect(shipped(played(...failed, ...paid))).toEqual(['ship'])
    expect(verdictOf('refund.created', { ...refund, status: 'pending' })).toMatchObject({ messages: [{ facts: [] }] })
    expect(factsOf('refund.updated', refund)).toHaveLength(1)
    const refundFailed = factsOf('refund.failed', { ...refund, ...CNY, status: 'failed' })
    const shop = played(...paid, ...refundFailed, ...factsOf('refund.updated', { ...refund, ...CNY }))
    expect(shipped(shop)).toEqual(['ship', 'refund'])
  })

  test('DUP-11 Pays#13: a delivery six hours later does not move the time of the payment', () => {
    const later = new Date(NOW.getTime() + 6 * 3_600_000)
    const resent = signed({ ...event, pending_webhooks: 0 })
    expect(provider.verify(resent, NOW)).toMatchObject({ messages: [{ facts: [{ eventTimeMs: PAID_AT.getTime() }] }] })
    expect(kindOf(provider.verify(resent, later))).toBe('stale')
  })

  test('ORD-01 mollie/WooCommerce#1252: a payment that is heard of after its full refund ships nothing', () => {
    const all = factsOf('charge.refunded', {
      ...charge,
      ...CNY,
      amount: AMOUNT,
      amount_captured: AMOUNT,
      amount_refunded: AMOUNT,
    })
    const shop = played(...all, ...paid)
    expect(shop.final(1)).toMatchObject({ order: { status: 'refunded' }, anomalies: [], held: [] })
    expect(shop.events).toEqual([])
  })

  test('ORD-02 nearmerch.com#209: a failed attempt that is heard of late leaves the order paid', () => {
    const shop = played(...paid, ...failed)
    expect(shop.final(1)).toMatchObject({ order: { status: 'paid' }, anomalies: [] })
  })

  test('UNK-01 statamic-cargo#190, UNK-03 woocommerce-paypal-payments#4489: a payment before its order waits for it', () => {
    const shop = new Shop([1]).play([...paid.map((one) => fact(one)), CREATE])
    expect(shop.outcomes[0]?.kind).toBe('held')
    expect(shipped(shop)).toEqual(['ship'])
  })

  test('AMT-08 mall#998: a payment of 0.01 does not pay for the order', () => {
    const shop = played(
      ...factsOf('payment_intent.succeeded', { ...intent, ...CNY, amount: AMOUNT, amount_received: 1 }),
    )
    expect(shop.final(1).anomalies).toEqual([`amount_mismatch:payment_succeeded/stripe:${intent.id}: open`])
    expect(shop.events.filter(({ kind }) => kind === 'ship')).toEqual([])
  })
})

describe('refunds', () => {
  test('REF-05 hyperswitch#5298, REF-11 hyperswitch#3751: a refund has its own number, its payment’s and ours', () =>
    expect(
      factsOf('refund.updated', { ...refund, metadata: { out_trade_no: 'T1', out_refund_no: 'R-2' } }),
    ).toMatchObject([
      {
        providerRef: `stripe:${refund.id}`,
        paymentRef: `stripe:${intent.id}`,
        detail: 'out_refund_no R-2; requested_by_customer',
      },
    ]))

  test('stripe-java#1567, woocommerce-gateway-stripe#2499: since 2022-11-15 a charge has no list of refunds', () => {
    const listed = { ...charge, refunds: { object: 'list', data: [refund], has_more: false } }
    expect(factsOf('charge.refunded', { ...charge, refunds: null })).toEqual(factsOf('charge.refunded', listed))
  })

  test('stripe-node#2224: a refund’s metadata are not its charge’s; each event is read by its own', () => {
    const alone = { ...refund, metadata: {} }
    expect(verdictOf('refund.created', alone)).toMatchObject({ messages: [{ outTradeNo: null, facts: [] }] })
    expect(factsOf('charge.refunded', charge)).toHaveLength(1)
  })

  test('woocommerce-gateway-stripe#1073: of 206.75 authorized 203.00 are captured, and nothing is refunded', () => {
    const partly = { ...charge, amount: 20_675, amount_captured: 20_300, amount_refunded: 375 }
    expect(verdictOf('charge.refunded', partly)).toMatchObject({
      messages: [{ facts: [], instead: { kind: 'no_effect' } }],
    })
  })
})

describe('answers', () => {
  test('RSP-07 forum 000e4c3d: whatever is not accepted is no 2xx, and a BOM or a second encoding is nowhere', () => {
    for (const kind of ['bad_signature', 'overloaded', 'broker_unavailable', 'internal'] as const)
      expect(stripeAnswers.refusal({ kind }).status).toBeGreaterThanOrEqual(400)
    expect(JSON.parse(stripeAnswers.success.body)).toEqual({ received: true })
  })

  test('a test event on the way of live ones is a stranger’s, as an endpoint of Connect gets both', () =>
    expect(kindOf(provider.verify(signed({ ...event, livemode: false, created: seconds(NOW) }), NOW))).toBe(
      'wrong_recipient',
    ))
})
