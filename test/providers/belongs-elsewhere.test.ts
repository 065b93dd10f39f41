import { describe, expect, test } from 'vitest'
import type { CallbackRequest, Provider, VerifiedMessage } from '../../src/providers/provider.ts'
import { composeCombined, composePayment, composeRefund, type Party } from '../../src/providers/wechatpay/compose.ts'
import type { Envelope } from '../../src/providers/wechatpay/sign.ts'
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
const ofStripe = (object: object, type = 'payment_intent.succeeded', change: object = {}) =>
  stripe.signed(stripe.eventOf(type, object, change))
const changed = (envelope: Envelope, change: object) =>
  wechatpay.notice({ ...envelope, resource: { ...(envelope.resource as object), ...change } })
const { direct, paid, refundOf, subMerchant } = wechatpay
const v3Refund = composeRefund('EV-2', direct, refundOf(1))
const [subPayment, subRefund] = [
  composePayment('EV-3', subMerchant(), paid(1)),
  composeRefund('EV-4', subMerchant(), refundOf(1)),
]
const combined = (...second: Parameters<typeof composeCombined>[2]) =>
  wechatpay.notice(composeCombined('EV-5', 'C1', [[direct, paid(1)], ...second]))
const v2Partner = v2.bound(wechatpay.partnerRecipient)
const onV2Partner = (change: Readonly<Record<string, string>>) => onv2({ sub_mch_id: '1900000009', ...change })

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
  // Refunds.
  [
    'WeChat Pay v3: a refund of another merchant',
    wechatpay.provider,
    changed(v3Refund, { mchid: '1900000002' }),
    wechatpay.NOW,
    'mchid',
  ],
  [
    'WeChat Pay v2: a refund of another merchant',
    v2.provider,
    v2.refundNotice(v2.refund, { ...v2.refundEnvelope, mch_id: '1900000002' }),
    v2.NOW,
    'mch_id',
  ],
  [
    'WeChat Pay v2: a refund of another app',
    v2.provider,
    v2.refundNotice(v2.refund, { ...v2.refundEnvelope, appid: 'wx00000000000000ff' }),
    v2.NOW,
    'appid',
  ],
  [
    'Alipay: a refund in another app',
    alipay.provider,
    alipay.notice({ ...alipay.partialRefund, app_id: '2021000000000009' }),
    alipay.NOW,
    'app_id',
  ],
  [
    'Alipay: a full refund of another seller',
    alipay.provider,
    alipay.notice({ ...alipay.fullRefund, seller_id: '2088000000000009' }),
    alipay.NOW,
    'seller_id',
  ],
  [
    'Stripe: a refund in test mode',
    stripe.provider,
    ofStripe(stripe.refund, 'refund.created', { livemode: false }),
    stripe.NOW,
    'livemode',
  ],
  [
    'Stripe: a total of a connected account',
    stripe.provider,
    ofStripe(stripe.charge, 'charge.refunded', { account: 'acct_other' }),
    stripe.NOW,
    'account',
  ],
  [
    'Standard Webhooks: a refund of another merchant',
    webhooks.provider,
    webhooks.signed(webhooks.withData(webhooks.refund, { merchant_id: 'm_9' })),
    webhooks.NOW,
    '/data/merchant_id',
  ],
  // Partners.
  [
    'WeChat Pay v3: a partner’s to a merchant',
    wechatpay.provider,
    wechatpay.notice(subPayment),
    wechatpay.NOW,
    'mchid',
  ],
  [
    'WeChat Pay v3: a partner’s refund to a merchant',
    wechatpay.provider,
    wechatpay.notice(subRefund),
    wechatpay.NOW,
    'mchid',
  ],
  [
    'WeChat Pay v3: a merchant’s to a partner',
    wechatpay.partner,
    wechatpay.notice(v3Refund),
    wechatpay.NOW,
    'sp_mchid',
  ],
  [
    'WeChat Pay v3: another’s sub-merchant',
    wechatpay.partner,
    wechatpay.notice(composePayment('EV-6', subMerchant('1900000007'), paid(1))),
    wechatpay.NOW,
    'sub_mchid',
  ],
  [
    'WeChat Pay v3: a refund of another’s sub-merchant',
    wechatpay.partner,
    wechatpay.notice(composeRefund('EV-6', subMerchant('1900000007'), refundOf(1))),
    wechatpay.NOW,
    'sub_mchid',
  ],
  [
    'WeChat Pay v3: another sub-merchant’s app',
    wechatpay.partner,
    changed(subPayment, { sub_appid: 'wx0000000000000007' }),
    wechatpay.NOW,
    'sub_appid',
  ],
  ['WeChat Pay v2: a partner’s to a merchant', v2.provider, onV2Partner({}), v2.NOW, 'sub_mch_id'],
  ['WeChat Pay v2: a merchant’s to a partner', v2Partner, v2.notice(), v2.NOW, 'sub_mch_id'],
  ['WeChat Pay v2: another’s sub-merchant', v2Partner, onV2Partner({ sub_mch_id: '1900000007' }), v2.NOW, 'sub_mch_id'],
  [
    'WeChat Pay v2: another sub-merchant’s app',
    v2Partner,
    onV2Partner({ sub_appid: 'wx0000000000000007' }),
    v2.NOW,
    'sub_appid',
  ],
  // Several orders in one message: one of them is enough.
  [
    'WeChat Pay v3: combined, one order of another merchant',
    wechatpay.provider,
    combined([{ ...direct, mchid: '1900000002' }, paid(2)]),
    wechatpay.NOW,
    'sub_orders.mchid',
  ],
  [
    'WeChat Pay v3: combined, one order of a sub-merchant',
    wechatpay.provider,
    combined([subMerchant(), paid(2)]),
    wechatpay.NOW,
    'sub_orders.sub_mchid',
  ],
  [
    'WeChat Pay v3: combined by another merchant',
    wechatpay.provider,
    changed(composeCombined('EV-5', 'C1', [[direct, paid(1)]]), { combine_mchid: '1900000002' }),
    wechatpay.NOW,
    'combine_mchid',
  ],
  [
    'WeChat Pay v3: combined by a partner, one order of another’s sub-merchant',
    wechatpay.partner,
    wechatpay.notice(
      composeCombined('EV-7', 'C2', [
        [subMerchant(), paid(1)],
        [subMerchant('1900000007'), paid(2)],
      ]),
    ),
    wechatpay.NOW,
    'sub_orders.sub_mchid',
  ],
]

describe('well signed and somebody else’s: refused by the gateway, so that nothing of it reaches an order', () => {
  test.each(ELSEWHERE)('%s', (_what, provider, request, now, field) => {
    expect(provider.verify(request, now)).toEqual({ kind: 'refused', rejection: { kind: 'wrong_recipient', field } })
  })
})

/** What the order says, and a payment of it that is genuine in every other way. */
type Payment = readonly [what: string, provider: Provider, request: CallbackRequest, now: Date, amountMinor: number]

const paidV3 = wechatpay.notice(composePayment('EV-1', direct, paid(1)))
const both = combined([direct, paid(2)])
const paidUsd = webhooks.withData(webhooks.payment, { currency: 'usd' })
const PAYMENTS: readonly Payment[] = [
  ['WeChat Pay v3', wechatpay.provider, paidV3, wechatpay.NOW, 100],
  ['WeChat Pay v2', v2.provider, v2.notice(), v2.NOW, 123_456],
  ['Alipay', alipay.provider, alipay.notice(), alipay.NOW, 8_800],
  ['Stripe', stripe.provider, ofStripe(stripe.intent), stripe.NOW, 8_800],
  ['Standard Webhooks', webhooks.provider, webhooks.signed(webhooks.payment), webhooks.NOW, 1_990],
  ['WeChat Pay v3, of a partner', wechatpay.partner, wechatpay.notice(subPayment), wechatpay.NOW, 100],
  ['WeChat Pay v2, of a partner', v2Partner, onV2Partner({}), v2.NOW, 123_456],
  ['Alipay, with a refund in it', alipay.provider, alipay.notice(alipay.partialRefund), alipay.NOW, 8_800],
  ['Standard Webhooks, with a total in it', webhooks.provider, webhooks.signed(webhooks.total), webhooks.NOW, 1_990],
]

/** What a request says, without being refused. */
function messagesOf(provider: Provider, request: CallbackRequest, now: Date) {
  const verdict = provider.verify(request, now)
  if (verdict.kind === 'verified') return verdict.messages
  throw new Error(JSON.stringify(verdict))
}
const paymentIn = ({ facts }: VerifiedMessage) => facts.find(({ eventType }) => eventType === 'payment_succeeded')

describe('well signed and for another amount than the order’s: a person decides, and nothing ships', () => {
  const outcomeOf = ([, provider, request, now]: Payment, amountMinor: number, currency?: string) => {
    const payment = paymentIn(messagesOf(provider, request, now)[0])
    if (payment === undefined) throw new Error('no payment')
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

test('of a combined payment each order is compared with its own amount', () => {
  const payments = messagesOf(wechatpay.provider, both, wechatpay.NOW).map(paymentIn)
  expect(payments.map((payment) => payment?.amountMinor)).toEqual([100, 200])
  for (const [index, payment] of payments.entries()) {
    if (payment === undefined) throw new Error('no payment')
    for (const amountMinor of [100, 200, 300]) {
      const order = orderIn('pending', { amountMinor, currency: 'CNY' })
      const isOwn = amountMinor === 100 * (index + 1)
      expect(effectsOf(order, decide(order, fact(payment)))).toMatchObject(
        isOwn ? { status: 'paid', opened: [] } : { status: 'pending', events: [], opened: ['amount_mismatch'] },
      )
    }
  }
})

/** A payment, and a refund of it by its amount, as the provider writes both. */
type Refunded = readonly [
  what: string,
  provider: Provider,
  payment: CallbackRequest,
  refund: (minor: number, currency?: string) => CallbackRequest,
  now: Date,
  paidMinor: number,
]
const yuan = (minor: number) => (minor / 100).toFixed(2)
const v3RefundOf = (party: Party) => (minor: number, currency?: string) => {
  const notice = composeRefund('EV-8', party, refundOf(1, { refundFen: minor }))
  const { amount } = notice.resource as { amount: object }
  return changed(notice, { amount: { ...amount, ...(currency === undefined ? {} : { currency }) } })
}
const ofCharge = (minor: number, currency?: string) =>
  ofStripe({ ...stripe.charge, amount_refunded: minor, currency: currency?.toLowerCase() ?? 'usd' }, 'charge.refunded')
const ofRefund = (minor: number, currency?: string) =>
  ofStripe({ ...stripe.refund, amount: minor, currency: currency?.toLowerCase() ?? 'usd' }, 'refund.created')
const ofWebhook = (minor: number) => webhooks.signed(webhooks.withData(webhooks.refund, { refund_cents: minor }))

const REFUNDS: readonly Refunded[] = [
  ['WeChat Pay v3', wechatpay.provider, paidV3, v3RefundOf(direct), wechatpay.NOW, 100],
  [
    'WeChat Pay v3, of a partner',
    wechatpay.partner,
    wechatpay.notice(subPayment),
    v3RefundOf(subMerchant()),
    wechatpay.NOW,
    100,
  ],
  ['WeChat Pay v3, of an order that was combined', wechatpay.provider, both, v3RefundOf(direct), wechatpay.NOW, 100],
  [
    'Alipay',
    alipay.provider,
    alipay.notice(),
    (minor) => alipay.notice({ ...alipay.partialRefund, refund_fee: yuan(minor) }),
    alipay.NOW,
    8_800,
  ],
  ['Stripe', stripe.provider, ofStripe(stripe.intent), ofRefund, stripe.NOW, 8_800],
  ['Stripe, a total', stripe.provider, ofStripe(stripe.intent), ofCharge, stripe.NOW, 8_800],
  ['Standard Webhooks', webhooks.provider, webhooks.signed(paidUsd), ofWebhook, webhooks.NOW, 1_990],
]

describe('a refund that is well signed', () => {
  const outcomeOf = ([, provider, payment, refund, now, paidMinor]: Refunded, minor: number, currency?: string) => {
    const paidBy = paymentIn(messagesOf(provider, payment, now)[0])
    const refunds = messagesOf(provider, refund(minor, currency), now)[0].facts.filter(
      ({ eventType }) => eventType === 'refund_succeeded',
    )
    if (paidBy === undefined || refunds.length !== 1) throw new Error('no payment, or no refund')
    const order = orderIn('pending', { amountMinor: paidMinor, currency: paidBy.currency })
    return {
      withPayment: effectsOf(order, decide(order, fact(paidBy), ...refunds.map((one) => fact(one)))),
      alone: effectsOf(order, decide(order, ...refunds.map((one) => fact(one)))),
    }
  }

  test.each(REFUNDS)('%s: in part, in full; of more than was paid a person hears', (...refund) => {
    const paidMinor = refund[5]
    expect(outcomeOf(refund, 1).withPayment).toMatchObject({
      ...{ outcomes: ['applied', 'applied'], status: 'paid', opened: [] },
    })
    expect(outcomeOf(refund, paidMinor).withPayment).toMatchObject({ status: 'refunded', opened: [] })
    expect(overOf(refund, paidMinor + 1)).toEqual('over_refund, or refused')
  })

  test.each(REFUNDS)('%s: before its payment is known it moves nothing, whatever the order’s amount', (...refund) => {
    expect(outcomeOf(refund, 1).alone).toMatchObject({ outcomes: ['held'], status: 'pending', events: [], opened: [] })
  })

  // Alipay's notices name no currency, and the mapping here has it as a constant.
  test.each(REFUNDS.filter(([, , , { length }]) => length > 1))(
    '%s: in another currency a person decides',
    (...refund) => {
      expect(outcomeOf(refund, 1, 'HKD').withPayment).toMatchObject({
        ...{ outcomes: ['applied', 'amount_mismatch'], status: 'paid', opened: ['amount_mismatch'] },
      })
    },
  )

  /** Some providers' messages contradict themselves then, and are refused for that. */
  function overOf(refund: Refunded, minor: number) {
    const [, provider, , requestOf, now] = refund
    const verdict = provider.verify(requestOf(minor), now)
    if (verdict.kind === 'refused') return verdict.rejection.kind === 'malformed' ? 'over_refund, or refused' : verdict
    const { opened } = outcomeOf(refund, minor).withPayment
    return opened.join() === 'over_refund' ? 'over_refund, or refused' : opened
  }
})

test('WeChat Pay v2: a refund notice, which nobody signed, has no amount that could count', () => {
  for (const change of [{}, { refund_fee: '999999999' }, { total_fee: '1' }])
    expect(messagesOf(v2.provider, v2.refundNotice({ ...v2.refund, ...change }), v2.NOW)).toMatchObject([
      { facts: [], instead: { kind: 'hint' } },
    ])
})

test('the buyer’s discount is no other amount: what counts is the order’s total', () => {
  const { payer_total: paid, total } = wechatpay.transaction.amount
  expect(paid).toBeLessThan(total)
  const verdict = wechatpay.provider.verify(wechatpay.notice(), wechatpay.NOW)
  expect(verdict).toMatchObject({ messages: [{ facts: [{ amountMinor: total }] }] })
})
