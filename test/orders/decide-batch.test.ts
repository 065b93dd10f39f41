import { expect, test } from 'vitest'
import { decideBatch } from '../../src/orders/decide-batch.ts'
import type { Item, OrderView } from '../../src/orders/decision.ts'
import { AMOUNT_MINOR_MAX } from '../../src/orders/limits.ts'
import { DEFAULT_ROUTES } from '../../src/orders/routes.ts'
import { aPayment, aRefund, decide, fact, OPTIONS, orderIn } from './build.ts'

test('an order that was not read is a bug, and says which', () => {
  expect(() => decideBatch(new Map(), [fact(aPayment('p'), 42)], OPTIONS)).toThrow('Order 42')
})

test('orders of one group in one batch see one another', () => {
  const views = new Map([1, 2].map((id): [number, OrderView] => [id, orderIn('pending', { id, groupKey: 'g' })]))
  const decision = decideBatch(views, [fact(aPayment('a'), 2), fact(aPayment('b'), 1)], OPTIONS)
  expect(decision.orders.map(({ id, status }) => [id, status])).toEqual([
    [2, 'paid'],
    [1, 'pending'],
  ])
  expect(decision.groups).toEqual([{ merchant: 'shop', groupKey: 'g', orderId: 2 }])
  expect(decision.openedAnomalies).toMatchObject([{ orderId: 1, kind: 'double_payment' }])
})

test('groups of two merchants are two groups, also where the names would run together', () => {
  const named = (id: number, merchant: string, groupKey: string): [number, OrderView] => [
    id,
    { ...orderIn('pending', { id, merchant, groupKey }), group: null },
  ]
  const views = new Map([named(1, 'a', 'bg'), named(2, 'ab', 'g')])
  const decision = decideBatch(views, [fact(aPayment('a'), 1), fact(aPayment('b'), 2)], OPTIONS)
  expect(decision.orders.map(({ status }) => status)).toEqual(['paid', 'paid'])
})

test('routes say into which topics; each message takes a number', () => {
  const routes = { ...DEFAULT_ROUTES, ship: [...DEFAULT_ROUTES.ship, ...DEFAULT_ROUTES.grant], deduct: [] }
  const view = orderIn('pending')
  const { events } = decideBatch(new Map([[1, view]]), [fact(aPayment('p'))], { ...OPTIONS, routes })
  expect(events.map(({ kind, topic, sequence }) => [kind, topic, sequence])).toEqual([
    ['ship', 'fulfillment.shipment.v1', 1],
    ['ship', 'fulfillment.points.v1', 2],
    ['grant', 'fulfillment.points.v1', 3],
  ])
  expect(new Set(events.map(({ eventId }) => eventId)).size).toBe(3)
})

test('a fact that two anomalies come from tells of both under two ids', () => {
  const wrong = aPayment('p', { amountMinor: 1 })
  const { events } = decide(orderIn('pending'), fact(wrong), fact({ ...wrong, amountMinor: 2 }))
  expect(events.map(({ cause }) => cause)).toEqual([
    'amount_mismatch:payment_succeeded/p',
    'conflicting_fact:payment_succeeded/p',
  ])
  expect(new Set(events.map(({ eventId }) => eventId)).size).toBe(2)
})

test('amounts whose sum passes 2^53 are added exactly', () => {
  const paidMinor = AMOUNT_MINOR_MAX
  const view = orderIn('pending', { amountMinor: paidMinor })
  const part = (n: number, minor: number) => fact(aRefund('p', minor, { providerRef: `r${n}` }))
  const paid = fact(aPayment('p', { amountMinor: paidMinor }))
  const almost = decide(view, paid, part(1, paidMinor - 1))
  expect(almost.orders).toMatchObject([{ status: 'paid' }])
  const over = decide(view, paid, part(1, paidMinor), part(2, 2))
  expect(over.openedAnomalies.map(({ facts }) => JSON.parse(facts) as object)).toMatchObject([
    { refundedMinor: '9007199254740992' },
  ])
})

// 4 ms on the machine where it was written; quadratic work would take seconds.
test.each([
  ['1,000 orders', (n: number) => n, (n: number) => aPayment(`p${n}`)],
  ['10,000 payments of one order', () => 0, (n: number) => aPayment(`p${n}`)],
  ['10,000 refunds of one order', () => 0, (n: number) => aRefund('p', 1, { providerRef: `r${n}` })],
])('a batch of %s takes well under a second', (name, orderOf, factOf) => {
  const count = name.startsWith('1,000 ') ? 1_000 : 10_000
  const items: Item[] = Array.from({ length: count }, (_, n) => fact(factOf(n), orderOf(n)))
  items.push(fact(aPayment('p'), 0))
  const views = new Map(Array.from({ length: count }, (_, id): [number, OrderView] => [id, orderIn('pending', { id })]))
  const startedMs = performance.now()
  decideBatch(views, items, OPTIONS)
  expect(performance.now() - startedMs).toBeLessThan(900)
})
