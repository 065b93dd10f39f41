import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { planOf, SHARES, STORIES, type PlanOptions } from '../../src/simulator/plan.ts'
import { RETRY_AFTER_SEC } from '../../src/simulator/retry-schedule.ts'

const options: PlanOptions = {
  ...{ seed: 42, runId: 'P1', merchants: ['a', 'b'], orders: 5_000 },
  ...{ deliveriesPerOrder: 5, spreadMs: 10_000, againMs: 5_000, reportShare: 0.2 },
}

describe('a plan', () => {
  test('is the same for the same seed, and another for another', () => {
    expect(planOf(options)).toEqual(planOf(options))
    expect(planOf({ ...options, seed: 43 })).not.toEqual(planOf(options))
  })

  test('has every story in about its share', () => {
    const orders = planOf(options)
    for (const story of STORIES) {
      const share = orders.filter((order) => order.story === story).length / orders.length
      const wanted = story === 'paid' ? 1 - Object.values(SHARES).reduce((sum, one) => sum + one) : SHARES[story]
      expect(Math.abs(share - wanted)).toBeLessThan(0.015)
    }
  })

  test('delivers each callback as often as asked, most of it at one instant, whatever the options', () => {
    const numbers = { deliveriesPerOrder: fc.integer({ min: 1, max: 40 }), seed: fc.integer({ min: 1, max: 1e9 }) }
    fc.assert(
      fc.property(fc.record(numbers), (drawn) => {
        for (const { callbacks, story } of planOf({ ...options, orders: 40, ...drawn }))
          for (const { bursts } of callbacks) {
            expect(bursts.reduce((sum, { copies }) => sum + copies, 0)).toBe(drawn.deliveriesPerOrder)
            const genuine = bursts.filter(({ defect }) => defect !== 'probe')
            const copies = genuine.map((burst) => burst.copies)
            if (story !== 'probed') expect(Math.max(...copies) * 5).toBeGreaterThanOrEqual(drawn.deliveriesPerOrder * 3)
            for (const { atMs } of bursts) expect(atMs).toBeGreaterThanOrEqual(bursts[0]?.atMs ?? 0)
          }
      }),
      { numRuns: 50 },
    )
  })

  test('tells each story as it is called', () => {
    for (const order of planOf(options)) {
      const { story, callbacks, createAtMs, amountMinor } = order
      const bursts = callbacks.flatMap((callback) => callback.bursts)
      const startMs = bursts[0]?.atMs ?? 0
      expect(callbacks).toHaveLength(story === 'second_payment' ? 2 : 1)
      expect(new Set(callbacks.map(({ transactionId }) => transactionId)).size).toBe(callbacks.length)
      if (story === 'unknown') expect(createAtMs).toBeNull()
      else if (story === 'created_late') expect(createAtMs).toBeGreaterThanOrEqual(startMs)
      else expect(createAtMs).toBe(0)
      for (const callback of callbacks) {
        expect(callback.amountMinor === amountMinor).toBe(story !== 'wrong_amount')
        if (story === 'stale') expect(callback.provider).toBe('wechatpay')
      }
      const defects = new Set(bursts.map(({ defect }) => defect))
      const wanted = { forged: ['wrong_signature'], stale: ['stale_timestamp'], probed: ['probe', 'none'] } as const
      expect([...defects]).toEqual(story in wanted ? wanted[story as keyof typeof wanted] : ['none'])
      if (order.reportAfterMs !== null) expect(['paid', 'probed', 'second_payment']).toContain(story)
    }
  })

  test('names every order and transaction once, in the letters that the providers take', () => {
    const orders = planOf(options)
    expect(new Set(orders.map(({ outTradeNo }) => outTradeNo)).size).toBe(orders.length)
    for (const { outTradeNo, callbacks } of orders) {
      expect(outTradeNo).toMatch(/^[A-Za-z0-9_|*-]{6,32}$/)
      for (const { transactionId } of callbacks) expect(transactionId.length).toBeLessThanOrEqual(32)
    }
    expect(new Set(orders.flatMap(({ callbacks }) => callbacks.map(({ transactionId }) => transactionId))).size).toBe(
      orders.flatMap(({ callbacks }) => callbacks).length,
    )
  })
})

test('the providers give up when their documents say', () => {
  const sum = (seconds: readonly number[]) => seconds.reduce((total, one) => total + one, 0)
  expect(RETRY_AFTER_SEC.wechatpay).toHaveLength(15)
  expect(sum(RETRY_AFTER_SEC.wechatpay)).toBe(24 * 3_600 + 4 * 60)
  expect(RETRY_AFTER_SEC.alipay).toHaveLength(7)
  expect(sum(RETRY_AFTER_SEC.alipay)).toBe(24 * 3_600 + 22 * 60)
})
