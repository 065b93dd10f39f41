import { describe, expect, test } from 'vitest'
import type { CallbackRequest, Provider } from '../../src/providers/provider.ts'
import { composePayment } from '../../src/providers/wechatpay/compose.ts'
import { decide, effectsOf, fact, orderIn } from '../orders/build.ts'
import * as alipay from './alipay-subject.ts'
import * as webhooks from './standard-webhooks-subject.ts'
import * as stripe from './stripe-subject.ts'
import * as v2 from './wechatpay-v2-subject.ts'
import * as wechatpay from './wechatpay-subject.ts'

/** Messages whose signature is good, and which are not what they seem, whatever the provider. */
type Elsewhere = readonly [what: string, provider: Provider, request: CallbackRequest, now: Date, field: string]

const v3Payment = (change: object) =>
  wechatpay.notice({ resource: { ...(wechatpay.payment.resource as object), ...change } })
const onv2 = (change: Readonly<Record<string, string>>) => v2.notice({ ...v2.payment, ...change })
const onAlipay = (change: Readonly<Record<string, string>>) => alipay.notice({ ...alipay.payment, ...change })
const onStripe = (change: object) => stripe.signed(stripe.eventOf('payment_intent.succeeded', stripe.intent, change))
const ofStripe = (object: object, type = 'payment_intent.succeeded') => stripe.signed(stripe.eventOf(type, object))

const ELSEWHERE: readonly Elsewhere[] = [
  ['WeChat Pay v3: another merchant', wechatpay.provider, v3Payment({ mchid: '1900000002' }), wechatpay.NOW, 'mchid'],
  [
    'WeChat Pay v3: another app',
    wechatpay.provider,
    v3Payment({ appid: 'wx00000000000000ff' }),
    wechatpay.NOW,
    'appid',
  ],
  ['WeChat Pay v2: another merchant', v2.provider, onv2({ mch_id: '1900000002' }), v2.NOW, 'mch_id'],
  ['WeChat Pay v2: another app', v2.provider, onv2({ appid: 'wx00000000000000ff' }), v2.NOW, 'appid'],
  ['Alipay: another app', alipay.provider, onAlipay({ app_id: '2021000000000009' }), alipay.NOW, 'app_id'],
  ['Alipay: another seller', alipay.provider, onAlipay({ seller_id: '2088000000000009' }), alipay.NOW, 'seller_id'],
  ['Stripe: a test event at a live endpoint', stripe.provider, onStripe({ livemode: false }), stripe.NOW, 'livemode'],
  ['Stripe: a connected account', stripe.provider, onStripe({ account: 'acct_other' }), stripe.NOW, 'account'],
  [
    'Standard Webhooks: another merchant',
    webhooks.provider,
    webhooks.signed(webhooks.withData(webhooks.payment, { merchant_id: 'm_9' })),
    webhooks.NOW,
    '/data/merchant_id',
  ],
  [
    'Standard Webhooks: a test at a live address',
    webhooks.provider,
    webhooks.signed({ ...webhooks.payment, live: false }),
    webhooks.NOW,
    '/live',
  ],
]

describe('well signed and somebody else’s: refused by the gateway, so that nothing of it reaches an order', () => {
  test.each(ELSEWHERE)('%s', (_what, provider, request, now, field) => {
    expect(provider.verify(request, now)).toEqual({ kind: 'refused', rejection: { kind: 'wrong_recipient', field } })
  })
})

/** What the order says, and a payment of it that is genuine in every other way. */
type Payment = readonly [what: string, provider: Provider, request: CallbackRequest, now: Date, amountMinor: number]

const paidV3 = wechatpay.notice(composePayment('EV-1', wechatpay.direct, wechatpay.paid(1)))
const PAYMENTS: readonly Payment[] = [
  ['WeChat Pay v3', wechatpay.provider, paidV3, wechatpay.NOW, 100],
  ['WeChat Pay v2', v2.provider, v2.notice(), v2.NOW, 123_456],
  ['Alipay', alipay.provider, alipay.notice(), alipay.NOW, 8_800],
  ['Stripe', stripe.provider, ofStripe(stripe.intent), stripe.NOW, 8_800],
  ['Standard Webhooks', webhooks.provider, webhooks.signed(webhooks.payment), webhooks.NOW, 1_990],
]

describe('well signed and for another amount than the order’s: a person decides, and nothing ships', () => {
  const outcomeOf = ([, provider, request, now]: Payment, amountMinor: number, currency?: string) => {
    const verdict = provider.verify(request, now)
    const payment = verdict.kind === 'verified' ? verdict.messages[0].facts[0] : undefined
    if (payment === undefined) throw new Error(JSON.stringify(verdict))
    const order = orderIn('pending', { amountMinor, currency: currency ?? payment.currency })
    return effectsOf(order, decide(order, fact(payment)))
  }
  const mismatch = { outcomes: ['amount_mismatch'], status: 'pending', events: [], opened: ['amount_mismatch'] }

  test.each(PAYMENTS)('%s', (...payment) => {
    const amountMinor = payment[4]
    expect(outcomeOf(payment, amountMinor)).toMatchObject({ status: 'paid', events: ['ship', 'deduct', 'grant'] })
    for (const other of [amountMinor - 1, amountMinor + 1, amountMinor * 100])
      expect(outcomeOf(payment, other)).toMatchObject(mismatch)
    expect(outcomeOf(payment, amountMinor, 'JPY')).toMatchObject(mismatch)
  })
})

test('the buyer’s discount is no other amount: what counts is the order’s total', () => {
  const { payer_total: paid, total } = wechatpay.transaction.amount
  expect(paid).toBeLessThan(total)
  const verdict = wechatpay.provider.verify(wechatpay.notice(), wechatpay.NOW)
  expect(verdict).toMatchObject({ messages: [{ facts: [{ amountMinor: total }] }] })
})
