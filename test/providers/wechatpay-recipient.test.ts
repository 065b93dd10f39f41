import { describe, expect, test } from 'vitest'
import {
  combinedResource,
  composeCombined,
  composePayment,
  composeProfitSharing,
  composeRefund,
} from '../../src/providers/wechatpay/compose.ts'
import type { Envelope } from '../../src/providers/wechatpay/sign.ts'
import {
  APPID,
  bound,
  direct,
  MCHID,
  notice,
  NOW,
  paid,
  partner,
  partnerRecipient,
  provider,
  refundOf,
  sharing,
  subMerchant,
} from './wechatpay-subject.ts'

/** Every case of a message that verifies and is to somebody else, or does not say whom it is to. */
type Case = readonly [what: string, envelope: Envelope, field: string]
const changed = (envelope: Envelope, change: object): Envelope => ({
  ...envelope,
  resource: { ...(envelope.resource as object), ...change },
})
const payment = composePayment('EV-1', direct, paid(1))
const refund = composeRefund('EV-2', direct, refundOf(1))
const combined = (order: object, whole: object = {}) => {
  const resource = combinedResource('C1', [
    [direct, paid(1)],
    [direct, paid(2)],
  ])
  const [first, second] = resource.sub_orders
  return { ...payment, resource: { ...resource, sub_orders: [first, { ...second, ...order }], ...whole } }
}

const TO_A_MERCHANT: readonly Case[] = [
  ['a payment of another merchant', changed(payment, { mchid: '1900000002' }), 'mchid'],
  ['a payment of no merchant', changed(payment, { mchid: undefined }), 'mchid'],
  ['a payment whose merchant is a number', changed(payment, { mchid: 1900000001 }), 'mchid'],
  ['a payment of another app', changed(payment, { appid: 'wx0000000000000007' }), 'appid'],
  ['a payment of no app', changed(payment, { appid: undefined }), 'appid'],
  ["a payment of a partner's sub-merchant", composePayment('EV-1', subMerchant(), paid(1)), 'mchid'],
  ['a payment that names a sub-merchant, too', changed(payment, { sub_mchid: '1900000009' }), 'sub_mchid'],
  ['a refund of another merchant', changed(refund, { mchid: '1900000002' }), 'mchid'],
  ['a refund of no merchant', changed(refund, { mchid: undefined }), 'mchid'],
  ["a refund of a partner's sub-merchant", composeRefund('EV-2', subMerchant(), refundOf(1)), 'mchid'],
  ['a combined payment that another merchant combined', combined({}, { combine_mchid: '1900000002' }), 'combine_mchid'],
  ['a combined payment in another app', combined({}, { combine_appid: 'wx0000000000000007' }), 'combine_appid'],
  ['a combined payment with an order of another merchant', combined({ mchid: '1900000002' }), 'sub_orders.mchid'],
  ['a combined payment with an order of a sub-merchant', combined({ sub_mchid: '1900000009' }), 'sub_orders.sub_mchid'],
  ['a kind that nobody knows, of another merchant', changed({ ...payment, eventType: 'X' }, { mchid: '1' }), 'mchid'],
]

const subPayment = composePayment('EV-1', subMerchant(), paid(1))
const subRefund = composeRefund('EV-2', subMerchant(), refundOf(1))
const TO_A_PARTNER: readonly Case[] = [
  ['a payment of another partner', changed(subPayment, { sp_mchid: '1900000002' }), 'sp_mchid'],
  ['a payment of no partner', changed(subPayment, { sp_mchid: undefined }), 'sp_mchid'],
  ["a payment of another's sub-merchant", composePayment('EV-1', subMerchant('1900000007'), paid(1)), 'sub_mchid'],
  ['a payment of no sub-merchant', changed(subPayment, { sub_mchid: undefined }), 'sub_mchid'],
  ["a payment in another partner's app", changed(subPayment, { sp_appid: 'wx0000000000000007' }), 'sp_appid'],
  ['a payment in no app', changed(subPayment, { sp_appid: undefined }), 'sp_appid'],
  ["a payment in another sub-merchant's app", changed(subPayment, { sub_appid: 'wx0000000000000007' }), 'sub_appid'],
  ["a payment of the partner's own", payment, 'sp_mchid'],
  ['a payment that names yet another merchant', changed(subPayment, { mchid: '1900000007' }), 'mchid'],
  ["a refund of another's sub-merchant", composeRefund('EV-2', subMerchant('1900000007'), refundOf(1)), 'sub_mchid'],
  ['a refund of no sub-merchant', changed(subRefund, { sub_mchid: undefined }), 'sub_mchid'],
  ["a refund of the partner's own", refund, 'sp_mchid'],
  [
    "a combined payment with an order of another's sub-merchant",
    composeCombined('EV-1', 'C1', [
      [subMerchant(), paid(1)],
      [subMerchant('1900000007'), paid(2)],
    ]),
    'sub_orders.sub_mchid',
  ],
  [
    "a combined payment in another sub-merchant's app",
    composeCombined('EV-1', 'C1', [[subMerchant('1900000008', 'wx0000000000000007'), paid(1)]]),
    'sub_orders.sub_appid',
  ],
  [
    "a combined payment of the partner's own",
    composeCombined('EV-1', 'C1', [[direct, paid(1)]]),
    'sub_orders.sub_mchid',
  ],
]

const refusal = (field: string) => ({ kind: 'refused', rejection: { kind: 'wrong_recipient', field } })

describe('WeChat Pay: well signed, and to somebody else', () => {
  test.for(TO_A_MERCHANT)('a merchant refuses %s', ([, envelope, field]) =>
    expect(provider.verify(notice(envelope), NOW)).toEqual(refusal(field)),
  )
  test.for(TO_A_PARTNER)('a partner refuses %s', ([, envelope, field]) =>
    expect(partner.verify(notice(envelope), NOW)).toEqual(refusal(field)),
  )
})

describe("WeChat Pay: a partner's sub-merchants", () => {
  test('pay, alone and together, and are given back', () => {
    const fact = (n: number) => ({ outTradeNo: `T${n}`, facts: [{ providerRef: `wechatpay:42000020240520${n}` }] })
    expect(partner.verify(notice(subPayment), NOW)).toMatchObject({ messages: [fact(1)] })
    const both = composeCombined('EV-1', 'C1', [
      [subMerchant(), paid(1)],
      [subMerchant('1900000008', null), paid(2)],
    ])
    expect(partner.verify(notice(both), NOW)).toMatchObject({ messages: [fact(1), fact(2)] })
    expect(partner.verify(notice(subRefund), NOW)).toMatchObject({
      messages: [{ outTradeNo: 'T1', facts: [{ eventType: 'refund_succeeded', providerRef: 'wechatpay:5030201' }] }],
    })
  })

  test('may have no app, and any where theirs are not listed', () => {
    const withoutApp = composePayment('EV-1', subMerchant('1900000008', null), paid(1))
    expect(partner.verify(notice(withoutApp), NOW).kind).toBe('verified')
    for (const sub_appid of ['', null])
      expect(partner.verify(notice(changed(withoutApp, { sub_appid })), NOW).kind).toBe('verified')
    const anyApp = bound({ ...partnerRecipient, subAppids: new Set() })
    const other = composePayment('EV-1', subMerchant('1900000008', 'wx0000000000000007'), paid(1))
    expect(anyApp.verify(notice(other), NOW).kind).toBe('verified')
  })

  test('may be written to with the app under its older name, and with the number of the one that writes', () => {
    const older = changed(subPayment, { sp_appid: undefined, appid: APPID, mchid: MCHID })
    expect(partner.verify(notice(older), NOW).kind).toBe('verified')
  })

  test("share profit, which changes nothing, also of others' orders", () => {
    for (const mchid of ['1900000009', '1900000007'])
      expect(partner.verify(notice(composeProfitSharing('EV-1', subMerchant(mchid), sharing)), NOW)).toMatchObject({
        messages: [{ outTradeNo: null, facts: [], instead: { kind: 'no_effect' } }],
      })
  })
})

describe('WeChat Pay: combined payments', () => {
  test('are taken up to 50 orders, each order once', () => {
    const orders = (count: number) => Array.from({ length: count }, (_, n) => [direct, paid(n + 1)] as const)
    const verdict = provider.verify(notice(composeCombined('EV-1', 'C1', orders(50))), NOW)
    expect(verdict.kind === 'verified' && verdict.messages.length).toBe(50)
    const refused = { kind: 'refused', rejection: { kind: 'malformed', field: 'sub_orders' } }
    expect(provider.verify(notice(composeCombined('EV-1', 'C1', orders(51))), NOW)).toEqual(refused)
    const [order] = orders(1)
    if (order === undefined) throw new Error('no order')
    expect(provider.verify(notice(composeCombined('EV-1', 'C1', [order, order])), NOW)).toEqual(refused)
  })
})
