import { describe, expect, test } from 'vitest'
import { expectedOf } from '../../src/simulator/expected.ts'
import type { DeliveryLine, LogLine, OrderLine } from '../../src/simulator/log.ts'

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
      [order('T1'), delivery('T1', { amountMinor: 99 }), delivery('T1')],
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
