import { describe, expect, test } from 'vitest'
import { factCause } from '../../src/orders/identity.ts'
import type { Fact } from '../../src/orders/model.ts'
import { isSameFact } from '../../src/orders/receive-fact.ts'
import { composeBill } from '../../src/providers/wechatpay/compose-bill.ts'
import {
  combinedResource,
  composeCombined,
  composePayment,
  composeRefund,
  paymentResource,
  refundAnswer,
  unpaidAnswer,
  type PaidOrder,
  type Party,
  type RefundOrder,
} from '../../src/providers/wechatpay/compose.ts'
import { factsOfBillRow } from '../../src/providers/wechatpay/facts-of-bill.ts'
import {
  factsOfCombinedQuery,
  factsOfPaymentQuery,
  factsOfRefundQuery,
} from '../../src/providers/wechatpay/facts-of-query.ts'
import { readBill } from './read-bill.ts'
import type { Envelope } from '../../src/providers/wechatpay/sign.ts'
import {
  direct,
  notice,
  NOW,
  paid,
  partner,
  partnerRecipient,
  provider,
  recipient,
  refundOf,
  subMerchant,
} from './wechatpay-subject.ts'

const LATER = new Date('2024-05-21T02:00:00Z')

const factsOf = (envelope: Envelope, bound = provider): readonly Fact[] => {
  const verdict = bound.verify(notice(envelope), NOW)
  if (verdict.kind === 'refused') throw new Error(JSON.stringify(verdict.rejection))
  return verdict.messages.flatMap(({ facts }) => facts)
}
const read = <T>(facts: readonly T[] | string): readonly T[] => {
  if (typeof facts === 'string') throw new Error(facts)
  return facts
}
const billed = (
  party: Party,
  to = recipient,
  payments: readonly PaidOrder[] = [],
  refunds: readonly RefundOrder[] = [],
) =>
  (readBill(composeBill(party, payments, refunds))?.rows ?? []).flatMap((row) => {
    const found = factsOfBillRow(row, to)
    if (typeof found === 'string') throw new Error(found)
    return found.facts
  })
const identity = (outTradeNo: string, fact: Fact) => `${outTradeNo} ${factCause(fact)}`

describe('WeChat Pay: one fact, whoever tells it', () => {
  test.for([
    ['a merchant', provider, recipient, direct],
    ["a partner's sub-merchant", partner, partnerRecipient, subMerchant()],
  ] as const)('a payment of %s: notice, query and bill', ([, bound, to, party]) => {
    const [told, ...none] = factsOf(composePayment('EV-1', party, paid(1)), bound)
    expect(none).toEqual([])
    const asked = read(factsOfPaymentQuery(paymentResource(party, paid(1)), to, LATER))
    const found = billed(party, to, [paid(1)])
    for (const facts of [asked, found]) {
      expect(facts).toEqual([told])
      expect(facts.map(factCause)).toEqual(['payment_succeeded/wechatpay:420000202405201'])
    }
  })

  test.for(['SUCCESS', 'ABNORMAL', 'CLOSED'] as const)('a refund that ended as %s: notice and query', (status) => {
    const [told] = factsOf(composeRefund('EV-1', direct, refundOf(1, { status })))
    const [asked] = read(factsOfRefundQuery(refundAnswer(refundOf(1, { status })), NOW))
    expect(asked).toEqual(told)
    expect(told).toMatchObject({ paymentRef: 'wechatpay:420000202405201', amountMinor: 30, amountKind: 'individual' })
  })

  test('a refund that is closed after it was abnormal was the same fact again, and nobody saw it', () => {
    const told = (status: RefundOrder['status']) => factsOf(composeRefund('EV-1', direct, refundOf(1, { status })))
    const asked = (status: RefundOrder['status']) =>
      read(factsOfRefundQuery(refundAnswer(refundOf(1, { status })), NOW))
    for (const [status, cause] of [
      ['ABNORMAL', 'refund_failed/wechatpay:5030201/abnormal'],
      ['CLOSED', 'refund_failed/wechatpay:5030201/closed'],
      ['SUCCESS', 'refund_succeeded/wechatpay:5030201'],
    ] as const) {
      expect(told(status).map(factCause)).toEqual([cause])
      expect(asked(status).map(factCause)).toEqual([cause])
    }
    // With what is behind it the number must still be one that can be kept.
    const longest = '5'.repeat(256 - 'wechatpay:'.length - '/abnormal'.length)
    const asksFor = (refund_id: string) =>
      factsOfRefundQuery({ ...refundAnswer(refundOf(1, { status: 'ABNORMAL' })), refund_id }, NOW)
    expect(asksFor(longest)).toHaveLength(1)
    expect(asksFor(`${longest}5`)).toBe('refund_id')
  })

  test('a refund in the bill is the same fact, though its time is when it was asked for', () => {
    const [told] = factsOf(composeRefund('EV-1', direct, refundOf(1)))
    const [found] = billed(direct, recipient, [], [refundOf(1, { at: new Date('2024-05-20T05:00:00Z') })])
    if (told === undefined || found === undefined) throw new Error('no fact')
    expect(factCause(found)).toBe(factCause(told))
    expect(isSameFact(found, told)).toBe(true)
    expect(found.detail).toBe(told.detail)
    expect(found.eventTimeMs).toBeLessThan(told.eventTimeMs)
  })

  test('combined payments: each order of the notice, the query and the bill', () => {
    const orders = [
      [subMerchant('1900000008', null), paid(1)],
      [subMerchant(), paid(2)],
    ] as const
    const told = factsOf(composeCombined('EV-1', 'C1', orders), partner)
    const asked = read(factsOfCombinedQuery(combinedResource('C1', orders), partnerRecipient, LATER))
    expect(asked.map(({ outTradeNo }) => outTradeNo)).toEqual(['T1', 'T2'])
    expect(asked.flatMap(({ facts }) => facts)).toEqual(told)
    expect(orders.flatMap(([party, order]) => billed(party, partnerRecipient, [order]))).toEqual(told)
  })

  test('an order that was refunded is one that was paid', () => {
    const answer = { ...paymentResource(direct, paid(1)), trade_state: 'REFUND' }
    expect(factsOfPaymentQuery(answer, recipient, LATER)).toEqual(factsOf(composePayment('EV-1', direct, paid(1))))
  })

  test('two different facts never have one identity', () => {
    const again = { ...paid(1), transactionId: '4200002024052099' }
    const facts = [
      ...factsOf(composePayment('EV-1', direct, paid(1))),
      ...factsOf(composePayment('EV-2', direct, again)),
      ...factsOf(composeRefund('EV-3', direct, refundOf(1))),
      ...factsOf(composeRefund('EV-4', direct, refundOf(1, { refundId: '50302099', outRefundNo: 'R-99' }))),
      // The first try failed, was given up, and went through after all: three things that happened.
      ...factsOf(composeRefund('EV-5', direct, refundOf(1, { status: 'ABNORMAL' }))),
      ...factsOf(composeRefund('EV-6', direct, refundOf(1, { status: 'CLOSED' }))),
      ...read(factsOfPaymentQuery(unpaidAnswer(direct, paid(1), 'CLOSED'), recipient, NOW)),
    ]
    expect(facts).toHaveLength(7)
    expect(new Set(facts.map((fact) => identity('T1', fact))).size).toBe(7)
    // One number, as a refund and as a payment.
    const [payment] = factsOf(composePayment('EV-1', direct, { ...paid(1), transactionId: '5030201' }))
    expect(payment && factCause(payment)).not.toBe(facts[2] && factCause(facts[2]))
  })
})

describe('WeChat Pay: what a query says', () => {
  test.for(['NOTPAY', 'USERPAYING', 'ACCEPT', 'PAYERROR', 'REVOKED'])('%s is no fact', (trade_state) => {
    const answer = { ...unpaidAnswer(direct, paid(1), 'NOTPAY'), trade_state }
    expect(factsOfPaymentQuery(answer, recipient, NOW)).toEqual([])
  })

  test('an order that was closed unpaid, which no notice ever says', () => {
    expect(factsOfPaymentQuery(unpaidAnswer(direct, paid(1), 'CLOSED'), recipient, NOW)).toEqual([
      expect.objectContaining({
        eventType: 'provider_closed',
        providerRef: 'wechatpay:closed/T1',
        amountMinor: 0,
        eventTimeMs: NOW.getTime(),
      }),
    ])
  })

  test('a refund that is on its way is no fact', () =>
    expect(factsOfRefundQuery(refundAnswer(refundOf(1, { status: 'PROCESSING' })), NOW)).toEqual([]))

  test.for([
    ['trade_state', { trade_state: 'PAID' }],
    ['trade_state', { trade_state: undefined }],
    ['out_trade_no', { out_trade_no: '' }],
    ['transaction_id', { transaction_id: undefined }],
    ['amount', { amount: undefined }],
    ['amount', { amount: { total: '100', currency: 'CNY' } }],
    ['amount.currency', { amount: { total: 100, currency: 'cny' } }],
    ['mchid', { mchid: '1900000002' }],
    ['mchid', { mchid: undefined }],
    ['appid', { appid: 'wx0000000000000007' }],
  ] as const)('names the field of an order that is wrong: %s', ([field, change]) =>
    expect(factsOfPaymentQuery({ ...paymentResource(direct, paid(1)), ...change }, recipient, NOW)).toBe(field),
  )

  test.for([
    ['status', { status: undefined }],
    // The notice's name for it.
    ['status', { status: undefined, refund_status: 'SUCCESS' }],
    ['status', { status: 'DONE' }],
    ['status', { status: 'toString' }],
    ['refund_id', { refund_id: '' }],
    ['transaction_id', { transaction_id: undefined }],
    ['amount', { amount: null }],
    ['amount.refund', { amount: { refund: 1.5 } }],
    ['amount.currency', { amount: { refund: 1, currency: '' } }],
  ] as const)('names the field of a refund that is wrong: %s', ([field, change]) =>
    expect(factsOfRefundQuery({ ...refundAnswer(refundOf(1)), ...change }, NOW)).toBe(field),
  )

  test('names the field of a combined payment that is wrong', () => {
    const answer = combinedResource('C1', [[subMerchant(), paid(1)]])
    const said = (change: object) => factsOfCombinedQuery({ ...answer, ...change }, partnerRecipient, NOW)
    const [order] = answer.sub_orders
    expect(said({ combine_mchid: '1' })).toBe('combine_mchid')
    for (const sub_orders of [undefined, [], [1]]) expect(said({ sub_orders })).toBe('sub_orders')
    expect(said({ sub_orders: [{ ...order, sub_mchid: '1900000007' }] })).toBe('sub_orders.sub_mchid')
    expect(said({ sub_orders: [{ ...order, out_trade_no: 1 }] })).toBe('sub_orders.out_trade_no')
    expect(said({ sub_orders: [{ ...order, amount: {} }] })).toBe('sub_orders.amount')
    expect(said({ sub_orders: [{ ...order, trade_state: 'NOTPAY' }] })).toEqual([{ outTradeNo: 'T1', facts: [] }])
  })
})
