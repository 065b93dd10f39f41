import { expect, test } from 'vitest'
import { planOf } from '../../src/simulator/plan.ts'
import { truthOf } from '../../src/simulator/truth.ts'

test('an order about which nothing but inventions come is not paid at its provider', () => {
  const orders = planOf({
    ...{
      seed: 7,
      runId: 'T',
      merchants: ['shop'],
      orders: 400,
      deliveriesPerOrder: 3,
      spreadMs: 1_000,
      againMs: 1_000,
    },
    stories: { forged: 0.2, stale: 0.2, stranger: 0.2 },
  })
  const clock = { now: () => new Date(10_000_000), elapsedMs: () => 0 }
  const truth = truthOf(orders, (atMs) => new Date(atMs), clock)
  const isPaid = (outTradeNo: string) =>
    (['wechatpay', 'alipay', 'stripe', 'standard-webhooks'] as const).some((provider) =>
      truth.paid(provider, 'shop').some((transaction) => transaction.outTradeNo === outTradeNo),
    )
  for (const story of ['forged', 'stale', 'stranger'] as const) {
    const those = orders.filter((order) => order.story === story)
    expect(those.length).toBeGreaterThan(10)
    expect(those.filter(({ outTradeNo }) => isPaid(outTradeNo))).toEqual([])
  }
  expect(orders.filter(({ story }) => story === 'paid').every(({ outTradeNo }) => isPaid(outTradeNo))).toBe(true)
})
