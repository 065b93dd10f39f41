import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { planOf, type PlanOptions } from '../../src/simulator/plan.ts'
import type { PlannedOrder } from '../../src/simulator/planned.ts'
import { RETRY_AFTER_SEC } from '../../src/simulator/retry-schedule.ts'
import { PAYMENT_PROVIDERS, PROVIDER_SHARES, STORIES, STORY_SHARES, type Story } from '../../src/simulator/stories.ts'

const options: PlanOptions = {
  ...{ seed: 42, runId: 'P1', merchants: ['a', 'b'], orders: 5_000 },
  ...{ deliveriesPerOrder: 5, spreadMs: 10_000, againMs: 5_000, reportShare: 0.2 },
}
const eventsOf = ({ callbacks }: PlannedOrder) => callbacks.map(({ event }) => event)
const told = (story: Story, of: Partial<PlanOptions> = {}) => {
  const stories = { ...Object.fromEntries(Object.keys(STORY_SHARES).map((name) => [name, 0])), [story]: 1 }
  return planOf({ ...options, orders: 300, stories: story === 'paid' ? { ...stories, paid: 0 } : stories, ...of })
}

describe('a plan', () => {
  test('is the same for the same seed, and another for another', () => {
    expect(planOf(options)).toEqual(planOf(options))
    expect(planOf({ ...options, seed: 43 })).not.toEqual(planOf(options))
  })

  test('has as many orders as asked, every story in about its share', () => {
    const orders = planOf(options)
    expect(orders).toHaveLength(options.orders)
    for (const story of STORIES) {
      const share = orders.filter((order) => order.story === story).length / orders.length
      const wanted =
        story === 'paid' ? 1 - Object.values(STORY_SHARES).reduce((sum, one) => sum + one) : STORY_SHARES[story]
      // A combined payment is of three orders on average.
      expect(Math.abs(share - wanted), story).toBeLessThan(story === 'combined' || story === 'paid' ? 0.06 : 0.015)
    }
  })

  test('gives every provider about its share of what all can tell', () => {
    const orders = told('paid')
    for (const provider of PAYMENT_PROVIDERS) {
      const mine = orders.filter(({ callbacks }) => callbacks[0]?.transaction.provider === provider)
      expect(Math.abs(mine.length / orders.length - PROVIDER_SHARES[provider]), provider).toBeLessThan(0.1)
    }
    const alone = planOf({ ...options, providers: { alipay: 1 } }).flatMap(({ callbacks }) => callbacks)
    expect(new Set(alone.map(({ transaction }) => transaction.provider))).toEqual(new Set(['alipay']))
    expect(() => planOf({ ...options, providers: {} })).toThrow('give one a share')
  })

  test('delivers each callback as often as asked, most of it at one instant, whatever the options', () => {
    const numbers = { deliveriesPerOrder: fc.integer({ min: 1, max: 40 }), seed: fc.integer({ min: 1, max: 1e9 }) }
    fc.assert(
      fc.property(fc.record(numbers), (drawn) => {
        for (const { callbacks } of planOf({ ...options, orders: 40, ...drawn }))
          for (const { bursts } of callbacks) {
            expect(bursts.reduce((sum, { copies }) => sum + copies, 0)).toBe(drawn.deliveriesPerOrder)
            const plain = bursts.filter(({ defect, isSlow }) => defect !== 'probe' && defect !== 'cut_off' && !isSlow)
            const copies = plain.map((burst) => burst.copies)
            if (plain.length === bursts.length)
              expect(Math.max(...copies) * 5).toBeGreaterThanOrEqual(drawn.deliveriesPerOrder * 3)
            for (const { atMs } of bursts) expect(atMs).toBeGreaterThanOrEqual(bursts[0]?.atMs ?? 0)
          }
      }),
      { numRuns: 50 },
    )
  })

  test('counts duplicates by their share alone, half of them at the same instant', () => {
    const callbacks = planOf({ ...options, duplicateShare: 0.25 }).flatMap((order) => order.callbacks)
    const plain = callbacks.flatMap(({ bursts }) => {
      const mine = bursts.filter(({ defect, isSlow }) => defect !== 'probe' && defect !== 'cut_off' && !isSlow)
      return [{ copies: mine.reduce((sum, { copies }) => sum + copies, 0), bursts: mine.length }]
    })
    const twice = plain.filter(({ copies }) => copies === 2)
    expect(plain.every(({ copies }) => copies === 1 || copies === 2)).toBe(true)
    expect(Math.abs(twice.length / plain.length - 0.25)).toBeLessThan(0.02)
    expect(Math.abs(twice.filter(({ bursts }) => bursts === 1).length / twice.length - 0.5)).toBeLessThan(0.05)
  })

  test.for<[Story, (order: PlannedOrder) => unknown]>([
    ['paid', (order) => eventsOf(order).join() === 'payment' && order.createAtMs === 0],
    ['created_late', ({ createAtMs, callbacks }) => (createAtMs ?? 0) >= (callbacks[0]?.bursts[0]?.atMs ?? NaN)],
    ['unknown', ({ createAtMs }) => createAtMs === null],
    ['wrong_amount', ({ amountMinor, callbacks }) => callbacks[0]?.transaction.amountMinor === amountMinor + 1],
    ['second_payment', ({ callbacks }) => new Set(callbacks.map((one) => one.transaction.transactionId)).size === 2],
    ['forged', (order) => everyDefect(order, 'wrong_signature')],
    ['stale', (order) => everyDefect(order, 'stale_timestamp')],
    ['stranger', (order) => everyDefect(order, 'stranger')],
    ['retired_key', (order) => everyDefect(order, 'retired_key')],
    ['hostile', (order) => everyDefect(order, 'hostile')],
    ['slow_head', (order) => everyDefect(order, 'slow_head')],
    ['probed', ({ callbacks }) => callbacks[0]?.bursts[0]?.defect === 'probe'],
    ['refunded_partly', (order) => refunded(order) > 0 && refunded(order) < order.amountMinor],
    ['refunded_fully', (order) => refunded(order) === order.amountMinor],
    [
      'refund_first',
      ({ callbacks: [payment, refund] }) => (refund?.bursts[0]?.atMs ?? NaN) < (payment?.bursts[0]?.atMs ?? NaN),
    ],
    [
      'refund_failed',
      (order) => refunded(order) === 0 && /^payment,refund_(abnormal|closed)$/.test(eventsOf(order).join()),
    ],
    [
      'closed',
      (order) => (order.closeAtMs === null ? eventsOf(order).join() === 'closed' : order.callbacks.length === 0),
    ],
    [
      'late_success',
      ({ closeAtMs, callbacks }) => closeAtMs !== null && callbacks.every(({ afterClose }) => afterClose),
    ],
    ['payment_failed', (order) => eventsOf(order).join() === 'payment_failed,payment'],
    ['disputed', (order) => eventsOf(order).join() === 'payment,dispute'],
    ['waiting', (order) => eventsOf(order).join() === 'waiting,payment'],
    ['finished', (order) => eventsOf(order).join() === 'finished,payment'],
  ])('tells %s as it is called', ([story, isSo]) => {
    const orders = told(story)
    expect(new Set(orders.map((order) => order.story))).toEqual(new Set([story]))
    for (const order of orders) expect(isSo(order), JSON.stringify(order)).toBe(true)
  })

  test('counts up what went back, refund by refund', () => {
    const twice = told('refunded_fully').flatMap(({ callbacks }) => {
      const refunds = callbacks[0]?.transaction.refunds ?? []
      return refunds.length === 2 ? [refunds] : []
    })
    expect(twice.length).toBeGreaterThan(50)
    for (const [first, second] of twice) {
      expect(first?.totalMinor).toBe(first?.amountMinor)
      expect(second?.totalMinor).toBe((first?.amountMinor ?? 0) + (second?.amountMinor ?? 0))
      expect(second?.atMs).toBeGreaterThan(first?.atMs ?? 0)
    }
  })

  test('pays two to four orders of one merchant in a combined payment, of which one tells', () => {
    const orders = told('combined')
    const paid = orders.flatMap(({ callbacks, merchant }) =>
      callbacks.flatMap(({ transaction }) =>
        [transaction, ...transaction.others].map(({ outTradeNo, amountMinor }) => ({
          merchant,
          outTradeNo,
          amountMinor,
        })),
      ),
    )
    const byNumber = (a: { outTradeNo: string }, b: { outTradeNo: string }) => (a.outTradeNo < b.outTradeNo ? -1 : 1)
    expect(paid.sort(byNumber)).toEqual(
      orders.map(({ merchant, outTradeNo, amountMinor }) => ({ merchant, outTradeNo, amountMinor })),
    )
    for (const { callbacks } of orders)
      for (const { transaction } of callbacks) expect(transaction.others.length).toBeLessThan(4)
  })

  test('names every order, transaction, refund and message once, in the letters that the providers take', () => {
    const orders = planOf(options)
    const callbacks = orders.flatMap((order) => order.callbacks)
    const once = (names: readonly string[]) => expect(new Set(names).size).toBe(names.length)
    once(orders.map(({ outTradeNo }) => outTradeNo))
    once(callbacks.map(({ messageId }) => messageId))
    const transactions = [...new Set(callbacks.map(({ transaction }) => transaction))]
    for (const { outTradeNo } of orders) expect(outTradeNo).toMatch(/^[A-Za-z0-9_|*-]{6,32}$/)
    for (const { transactionId } of transactions) expect(transactionId.length).toBeLessThanOrEqual(32)
    once(
      transactions.filter(({ state }) => state === 'paid').flatMap(({ refunds }) => refunds.map((one) => one.refundId)),
    )
  })
})

const everyDefect = ({ callbacks }: PlannedOrder, defect: string) =>
  callbacks.every(({ bursts }) => bursts.every((burst) => burst.defect === defect))
const refunded = ({ callbacks }: PlannedOrder) => {
  const refunds = callbacks[0]?.transaction.refunds ?? []
  return refunds.reduce((sum, { state, amountMinor }) => (state === 'succeeded' ? sum + amountMinor : sum), 0)
}

test('the senders give up when their documents say', () => {
  const hours = (seconds: readonly number[]) => seconds.reduce((total, one) => total + one, 0) / 3_600
  const { wechatpay, alipay, stripe, worker } = RETRY_AFTER_SEC
  expect([wechatpay.length, hours(wechatpay)]).toEqual([15, 24 + 4 / 60])
  expect(RETRY_AFTER_SEC['wechatpay-v2']).toEqual(wechatpay)
  expect([alipay.length, hours(alipay)]).toEqual([7, 24 + 22 / 60])
  expect(hours(stripe)).toBeLessThan(72)
  expect(hours(stripe)).toBeGreaterThan(48)
  for (const [index, seconds] of stripe.entries()) expect(seconds).toBe(60 * 2 ** index)
  expect(worker).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400])
  expect(RETRY_AFTER_SEC['standard-webhooks']).toEqual(worker)
})
