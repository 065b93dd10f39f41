import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideBatch } from '../../src/orders/decide-batch.ts'
import type { Item, OrderView } from '../../src/orders/decision.ts'
import type { ClosedBy } from '../../src/orders/model.ts'
import type { Policies } from '../../src/orders/policies.ts'
import { aPayment, aRefund, effectsOf, fact, NOW_MS, OPTIONS, orderIn, stored } from './build.ts'

const MINUTE_MS = 60_000
const policies: Policies = {
  everybody: { acceptAfterCloseMs: null },
  merchants: new Map([['shop', { acceptAfterCloseMs: 10 * MINUTE_MS }]]),
}
const CLOSED_MS = NOW_MS - 3_600_000
const closed = (closedBy: ClosedBy, changes: Partial<OrderView['order']> = {}) =>
  orderIn('closed', { closedBy, closedAtMs: CLOSED_MS, expiresAtMs: CLOSED_MS - 2 * MINUTE_MS, ...changes })
const decide = (view: OrderView, items: readonly Item[], given = policies) =>
  decideBatch(new Map([[view.order.id, view]]), items, { ...OPTIONS, policies: given })
const paidAt = (afterMs: number) => aPayment('late', { eventTimeMs: CLOSED_MS + afterMs })

describe('a payment after the close', () => {
  test.each(['merchant', 'expiry'] as const)('within the minutes after a close by %s it is accepted', (by) => {
    const view = closed(by)
    for (const afterMs of [-1, 0, 1, 10 * MINUTE_MS])
      expect(effectsOf(view, decide(view, [fact(paidAt(afterMs))]))).toEqual({
        ...{ outcomes: ['applied'], status: 'paid', events: ['ship', 'deduct', 'grant'], opened: [], resolved: [] },
      })
    expect(effectsOf(view, decide(view, [fact(paidAt(10 * MINUTE_MS + 1))]))).toMatchObject({
      ...{ outcomes: ['paid_after_close'], status: 'closed', events: [], opened: ['paid_after_close'] },
    })
  })
  test('not after the close by the provider: that is a contradiction', () => {
    const view = closed('provider')
    expect(effectsOf(view, decide(view, [fact(paidAt(1))]))).toMatchObject({ opened: ['paid_after_close'] })
  })
  test('another merchant, or none that has a policy: a person decides', () => {
    const other = closed('merchant', { merchant: 'other' })
    expect(effectsOf(other, decide(other, [fact(paidAt(1))]))).toMatchObject({ opened: ['paid_after_close'] })
    const view = closed('merchant')
    const off: Policies = { ...policies, everybody: { acceptAfterCloseMs: 1 }, merchants: new Map() }
    expect(effectsOf(view, decide(view, [fact(paidAt(1))], off))).toMatchObject({ status: 'paid' })
    expect(effectsOf(view, decideBatch(new Map([[1, view]]), [fact(paidAt(1))], OPTIONS))).toMatchObject({
      opened: ['paid_after_close'],
    })
    const ownIsNo: Policies = { ...off, merchants: new Map([['shop', { acceptAfterCloseMs: null }]]) }
    expect(effectsOf(view, decide(view, [fact(paidAt(1))], ownIsNo))).toMatchObject({ opened: ['paid_after_close'] })
  })
  test('of another amount it is an anomaly all the same, and so it is where another of its group is paid', () => {
    const view = closed('merchant')
    const wrong = { ...paidAt(1), amountMinor: 1 }
    expect(effectsOf(view, decide(view, [fact(wrong)]))).toMatchObject({ opened: ['amount_mismatch'] })
    const grouped = orderIn('closed', { ...view.order, groupKey: 'g' }, { paidInGroup: 2 })
    expect(effectsOf(grouped, decide(grouped, [fact(paidAt(1))]))).toMatchObject({ opened: ['double_payment'] })
  })
  test('it takes its held refunds along: all of it went back, so nothing ships', () => {
    const view = orderIn('closed', closed('merchant').order, { facts: [stored(aRefund('late'), 'held')] })
    const held = { ...view, order: { ...view.order, heldCount: 1 } }
    expect(effectsOf(held, decide(held, [fact(paidAt(1))]))).toMatchObject({ status: 'refunded', events: [] })
  })
})

test('the answer rests on when it was paid and closed, not on when or with what its callback came', () => {
  const times = fc.integer({ min: -20 * MINUTE_MS, max: 20 * MINUTE_MS })
  fc.assert(
    fc.property(times, fc.integer({ min: 0, max: 86_400_000 }), fc.boolean(), (afterMs, laterMs, inTwo) => {
      const view = closed('merchant')
      const items = [fact(paidAt(afterMs)), fact(paidAt(afterMs))]
      const now = new Date(NOW_MS + laterMs)
      const options = { ...OPTIONS, policies, now }
      const decision = decideBatch(new Map([[1, view]]), inTwo ? items : items.slice(0, 1), options)
      expect(decision.orders[0]?.status).toBe(afterMs <= 10 * MINUTE_MS ? 'paid' : 'closed')
    }),
  )
})
