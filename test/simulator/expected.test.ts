import { describe, expect, test } from 'vitest'
import { expectedOf } from '../../src/simulator/expected.ts'
import type { DeliveryLine, LogLine, OrderLine, StatedFact } from '../../src/simulator/log.ts'

const order = (outTradeNo: string, over: Partial<OrderLine> = {}): OrderLine => ({
  ...{ line: 'order', merchant: 'shop', outTradeNo, amountMinor: 100, currency: 'CNY' },
  ...{ atMs: 1, latencyMs: 1, heard: 'created' },
  ...over,
})
const delivery = (outTradeNo: string, over: Partial<DeliveryLine> = {}): DeliveryLine => ({
  ...{ line: 'delivery', merchant: 'shop', outTradeNo, amountMinor: 100, currency: 'CNY', atMs: 1, latencyMs: 1 },
  ...{ provider: 'wechatpay', paymentRef: 'wechatpay:1', defect: 'none', gateway: 'g', status: 200, heard: 'success' },
  ...over,
})
const ref = { merchant: 'shop', outTradeNo: 'T1' }

describe('a log says that an order is', () => {
  test.for<['paid' | 'uncertain' | 'unpaid', string, LogLine[]]>([
    [
      'paid',
      'when one of many right deliveries was accepted',
      [order('T1'), delivery('T1', { heard: 'failure' }), delivery('T1')],
    ],
    ['paid', 'when it was created after its payment', [delivery('T1'), order('T1')]],
    [
      'paid',
      'when another payment of it was wrong',
      [order('T1'), delivery('T1', { amountMinor: 99, paymentRef: 'wechatpay:0' }), delivery('T1')],
    ],
    ['paid', 'when creating it was unclear at first', [order('T1', { heard: 'unknown' }), order('T1'), delivery('T1')]],
    [
      'paid',
      'when it was asked for again and refused',
      [order('T1'), order('T1', { heard: 'refused' }), delivery('T1')],
    ],
    [
      'uncertain',
      'when no right delivery was accepted',
      [order('T1'), delivery('T1', { heard: 'no_answer', status: null })],
    ],
    ['uncertain', 'when success came in another form', [order('T1'), delivery('T1', { heard: 'wrong_form' })]],
    ['uncertain', 'when nobody knows whether it was created', [order('T1', { heard: 'unknown' }), delivery('T1')]],
    ['unpaid', 'when it was never created', [delivery('T1')]],
    ['unpaid', 'when the api refused it', [order('T1', { heard: 'refused' }), delivery('T1')]],
    ['unpaid', 'when its amount is another', [order('T1'), delivery('T1', { amountMinor: 101 })]],
    ['unpaid', 'when its currency is another', [order('T1'), delivery('T1', { currency: 'USD' })]],
    [
      'unpaid',
      'when nothing genuine came',
      [order('T1'), delivery('T1', { defect: 'wrong_signature', heard: 'failure' })],
    ],
    ['unpaid', 'when nothing came', [order('T1')]],
  ])('%s %s', ([verdict, , lines]) => {
    const { paid, uncertain, unpaid } = expectedOf(lines)
    expect({ paid, uncertain, unpaid }).toEqual({ paid: [], uncertain: [], unpaid: [], [verdict]: [ref] })
  })

  test('and keeps two merchants apart', () => {
    const { paid, unpaid } = expectedOf([order('T1'), delivery('T1', { merchant: 'books' })])
    expect(paid).toEqual([])
    expect(unpaid).toEqual([ref, { ...ref, merchant: 'books' }])
  })

  test('a forgery that was accepted is a finding', () => {
    const forged = delivery('T1', { defect: 'stale_timestamp' })
    expect(expectedOf([order('T1'), forged]).wronglyAccepted).toEqual([forged])
  })

  test('a worker says nothing about payments', () =>
    expect(expectedOf([order('T1'), { ...delivery('T1'), line: 'report' }]).paid).toEqual([]))
})

const fact = (over: Partial<StatedFact> = {}): StatedFact => ({
  ...{ outTradeNo: 'T1', eventType: 'payment_succeeded', providerRef: 'alipay:1', paymentRef: null, amountMinor: 100 },
  ...{ currency: 'CNY', amountKind: 'none', eventTimeMs: 0 },
  ...over,
})
const refund = (amountMinor: number) =>
  fact({
    ...{ eventType: 'refund_succeeded', providerRef: `alipay:1/refunded/${amountMinor}`, paymentRef: 'alipay:1' },
    ...{ amountMinor, amountKind: 'cumulative' },
  })
const notice = (facts: StatedFact[], over: Partial<DeliveryLine> = {}): LogLine => ({
  ...delivery('T1', { facts, ...over }),
  line: 'notice',
})
const endsOf = (lines: readonly LogLine[]) =>
  expectedOf(lines).orders.find(({ outTradeNo }) => outTradeNo === 'T1')?.ends

describe('an order ends', () => {
  test('refunded in part, when the payment was answered before the refund was sent', () =>
    expect(endsOf([order('T1'), delivery('T1', { facts: [fact()] }), notice([refund(30)], { atMs: 10 })])).toEqual([
      {
        ...{ status: 'paid', paymentRef: 'alipay:1', refundedMinor: 30, openAnomalies: [] },
        events: { deduct: 1, grant: 1, refund: 3, ship: 1 },
      },
    ]))

  test('refunded with or without a sign, where it is unknown which came first', () => {
    const ends = endsOf([
      order('T1'),
      delivery('T1', { facts: [fact()], latencyMs: 50 }),
      notice([refund(100)], { atMs: 9 }),
    ])
    expect(ends?.map(({ status }) => status)).toEqual(['refunded', 'refunded'])
    expect(ends?.map(({ events }) => Object.keys(events).length).sort()).toEqual([0, 6])
    expect(expectedOf([]).orders).toEqual([])
  })

  test('in either way, where a payment and a close cross; the close’s answer decides', () => {
    const close = (heard: 'closed' | 'refused' | 'unknown'): LogLine => ({
      ...{ line: 'close', merchant: 'shop', outTradeNo: 'T1', atMs: 20, latencyMs: 5, heard },
    })
    const statuses = (...lines: LogLine[]) => endsOf([order('T1'), ...lines])?.map(({ status }) => status)
    // A payment that lies in Kafka may be decided after a close that was filed later.
    expect(statuses(delivery('T1', { facts: [fact()] }), close('closed'))?.sort()).toEqual(['closed', 'paid'])
    expect(statuses(close('closed'), delivery('T1', { facts: [fact()], atMs: 40 }))).toEqual(['closed'])
    expect(statuses(delivery('T1', { facts: [fact()] }), close('refused'))).toEqual(['paid'])
    expect(statuses(close('unknown'))?.sort()).toEqual(['closed', 'pending'])
  })

  test('as each of its own facts says, when one callback states those of two', () => {
    const both = delivery('T1', {
      facts: [fact(), fact({ outTradeNo: 'T2', providerRef: 'alipay:2', amountMinor: 7 })],
    })
    const { paid } = expectedOf([order('T1'), order('T2', { amountMinor: 7 }), both])
    expect(paid.map(({ outTradeNo }) => outTradeNo)).toEqual(['T1', 'T2'])
  })

  test('in a way that nobody can tell, after too many things at once', () => {
    const many = Array.from({ length: 12 }, (_, n) => notice([refund(n + 1)]))
    expect(expectedOf([order('T1'), ...many])).toMatchObject({ uncertain: [ref], orders: [{ ends: undefined }] })
  })
})

test('genuine deliveries that were refused are told, but for slow ones', () => {
  const refused = delivery('T1', { status: 401, heard: 'failure' })
  const lines = [refused, { ...refused, isSlow: true }, { ...refused, defect: 'probe' as const }]
  expect(expectedOf([order('T1'), ...lines, delivery('T1', { heard: 'no_answer' })]).genuineRefused).toEqual([refused])
})
