import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DEFAULT_ROUTES } from '../../../src/orders/routes.ts'
import type { AuditedEvent, AuditedOrder } from '../../../src/reconcile/audit/audited-order.ts'
import { judgeOrder } from '../../../src/reconcile/audit/judge-order.ts'
import { printedRandom } from '../../helpers/seed.ts'
import { step } from '../../orders/arbitrary.ts'
import { AMOUNT, aFact, aPayment, aRefund, fact } from '../../orders/build.ts'
import { Shop, type Step } from '../../orders/shop.ts'

const { seed } = printedRandom('judge-order')
const ORDER_IDS = [1, 2]
const steps = fc.array(step(ORDER_IDS), { maxLength: 40 })
const AT_MS = 1_790_000_000_000

/** What Postgres has of an order after these steps, as the audit reads it. */
function auditedOf(shop: Shop, orderId: number): AuditedOrder {
  const { order, facts, anomalies } = shop.row(orderId)
  return {
    ...order,
    ...{ lane: 0, createdAtMs: AT_MS },
    facts: [...facts.values()].map((one) => ({ ...one, recordedAtMs: AT_MS })),
    anomalies: [...anomalies.values()].map(({ kind, cause, resolution }) => ({
      ...{ kind, cause, resolution },
      ...{ openedAtMs: AT_MS, resolvedAtMs: resolution === null ? null : AT_MS },
    })),
    events: shop.events.flatMap((event, laneSeq) => (event.orderId === orderId ? [{ ...event, laneSeq }] : [])),
  }
}
const judge = (order: AuditedOrder) => judgeOrder(order, DEFAULT_ROUTES)
const replay = (all: readonly Step[]) => new Shop(ORDER_IDS, () => 'group').play(all)

test('whatever happens to an order, its rows agree', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const shop = replay(all)
      for (const id of ORDER_IDS) expect(judge(auditedOf(shop, id))).toEqual([])
    }),
    { numRuns: 4_000, seed },
  )
})

/** Histories that sent something, with one of their events chosen. */
const withEvent = fc
  .tuple(steps, fc.nat())
  .map(([all, nth]) => {
    const order = auditedOf(replay([{ kind: 'create', orderId: 1 }, ...all]), 1)
    return { order, chosen: order.events[nth % Math.max(1, order.events.length)] }
  })
  .filter((one): one is { order: AuditedOrder; chosen: AuditedEvent } => one.chosen !== undefined)
const change = (order: AuditedOrder, chosen: AuditedEvent, ...instead: AuditedEvent[]): AuditedOrder => ({
  ...order,
  events: order.events.flatMap((event) => (event === chosen ? instead : [event])),
})

test('one event less is found, and is all that is found', () => {
  fc.assert(
    fc.property(withEvent, ({ order, chosen }) => {
      const findings = judge(change(order, chosen))
      expect(findings.map(({ finding }) => finding)).toEqual(['missing'])
      const { eventId, detail } = findings[0] ?? {}
      // Where its cause may have sent nothing, the order's own numbering says that one is gone.
      if (eventId === null) expect(detail).toContain(`event number ${chosen.sequence ?? ''} `)
      else expect(eventId).toBe(chosen.eventId)
    }),
    { numRuns: 2_500, seed },
  )
})

test('one event twice, one that nothing has caused, one of another amount: found, each alone', () => {
  fc.assert(
    fc.property(withEvent, ({ order, chosen }) => {
      const found = (instead: AuditedEvent[]) =>
        judge(change(order, chosen, ...instead)).map(({ finding, eventId }) => [finding, eventId])
      expect(found([chosen, { ...chosen, laneSeq: 9_999 }])).toEqual([['duplicate', chosen.eventId]])
      const forged = { ...chosen, eventId: '00000000-0000-5000-8000-000000000000' }
      expect(found([chosen, forged])).toEqual([['extra', forged.eventId]])
      if (chosen.amountMinor === null) return
      const dearer = { ...chosen, amountMinor: chosen.amountMinor + AMOUNT }
      expect(found([dearer])).toEqual([['amount_mismatch', chosen.eventId]])
      const elsewhere = { ...chosen, currency: 'USD' }
      expect(found([elsewhere])).toEqual([['amount_mismatch', chosen.eventId]])
    }),
    { numRuns: 2_500, seed },
  )
})

const PAID: Step[] = [{ kind: 'create', orderId: 1 }, fact(aPayment('p'))]

test('all events of a payment are gone, and its order was refunded later: not taken for one that was refunded in silence', () => {
  const order = auditedOf(replay([...PAID, fact(aRefund('p'))]), 1)
  const rest = order.events.filter(({ cause }) => !cause.startsWith('payment'))
  expect(judge({ ...order, events: rest }).map(({ kind }) => kind)).toEqual(['ship', 'deduct', 'grant'])
})

test('all of an order that was paid and refunded is gone: its numbers say so', () => {
  const order = auditedOf(replay([...PAID, fact(aRefund('p'))]), 1)
  const findings = judge({ ...order, events: [] })
  expect(new Set(findings.map(({ finding }) => finding))).toEqual(new Set(['missing']))
})

test('a part of a refund is missing from what workers were told', () => {
  const order = auditedOf(replay([...PAID, fact(aRefund('p', 3_000, { amountKind: 'cumulative' }))]), 1)
  const events = order.events.map((event) => (event.kind === 'refund' ? { ...event, amountMinor: 2_000 } : event))
  expect(judge({ ...order, events })).toMatchObject([
    { finding: 'amount_mismatch', detail: 'of p 3000 is refunded, and workers heard of 2000' },
  ])
})

test('an applied payment that is not the order’s amount', () => {
  const order = auditedOf(replay(PAID), 1)
  expect(judge({ ...order, amountMinor: 1 })).toMatchObject([{ finding: 'amount_mismatch' }])
})

test('events from before those that are kept are not missed', () => {
  const order = auditedOf(replay([...PAID, fact(aFact('disputed', { paymentRef: 'p' }))]), 1)
  const late = { ...order, events: [] }
  expect(judgeOrder(late, DEFAULT_ROUTES, AT_MS + 1)).toEqual([])
  const { facts, anomalies } = late
  const disputed = { ...late, anomalies: anomalies.map((one) => ({ ...one, openedAtMs: AT_MS + 1 })) }
  expect(facts).toHaveLength(2)
  expect(judgeOrder(disputed, DEFAULT_ROUTES, AT_MS + 1)).toMatchObject([
    { finding: 'missing', kind: 'anomaly_opened' },
  ])
})

test('an order with a thousand partial refunds: right, and what one of them lacks is all that is found', () => {
  const refunds = Array.from({ length: 1_000 }, (_, n) =>
    fact(aRefund('p', 1, { providerRef: `refund-${n}`, amountKind: 'individual' })),
  )
  const order = auditedOf(replay([...PAID, ...refunds]), 1)
  expect(order.events).toHaveLength(3 + 3_000)
  expect(judge(order)).toEqual([])
  const [lost] = order.events.filter(({ cause }) => cause.endsWith('refund-700'))
  expect(judge({ ...order, events: order.events.filter((event) => event !== lost) })).toMatchObject([
    { finding: 'missing', eventId: lost?.eventId },
  ])
})
