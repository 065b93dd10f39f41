import fc from 'fast-check'
import { expect, test } from 'vitest'
import { factCause } from '../../src/orders/identity.ts'
import type { Fact, StoredFact } from '../../src/orders/model.ts'
import { printedRandom } from '../helpers/seed.ts'
import { step } from './arbitrary.ts'
import { aFact, AMOUNT, aPayment, aRefund, fact } from './build.ts'
import { Shop, type Step } from './shop.ts'

const { seed } = printedRandom('invariants')
const ORDER_IDS = [1, 2]
const stream = fc.array(step(ORDER_IDS), { maxLength: 40 })
const kindsOf = (shop: Shop, orderId: number) =>
  shop.events.filter((event) => event.orderId === orderId && event.sequence !== null).map(({ kind }) => kind)

// That sequences have no gaps, no event id comes twice and held facts are counted is checked by the shop at each batch.

test('an order ships at most once per paid life, and a life ends before the next begins', () => {
  fc.assert(
    fc.property(stream, (steps) => {
      const shop = new Shop(ORDER_IDS, () => 'group').play(steps)
      for (const orderId of ORDER_IDS) {
        const lives = kindsOf(shop, orderId).filter((kind) => ['ship', 'cancel', 'return'].includes(kind))
        expect(lives.join(' ')).toMatch(/^(ship (cancel|return) )*(ship)?( cancel| return)?$|^$/)
        for (const kind of ['ship', 'deduct', 'grant'] as const)
          expect(kindsOf(shop, orderId).filter((each) => each === kind)).toHaveLength(
            lives.filter((each) => each === 'ship').length,
          )
        expect(kindsOf(shop, orderId).filter((kind) => kind === 'unreserve').length).toBeLessThanOrEqual(1)
      }
    }),
    { numRuns: 1_500, seed },
  )
})

test('of a group, at most one order is paid, and the group knows which', () => {
  fc.assert(
    fc.property(stream, (steps) => {
      const shop = new Shop(ORDER_IDS, () => 'group').play(steps)
      const paid = ORDER_IDS.filter((id) => ['paid', 'shipped'].includes(shop.row(id).order.status))
      expect(paid).toEqual(shop.groups.get('group')?.orderId == null ? [] : [shop.groups.get('group')?.orderId])
    }),
    { numRuns: 1_500, seed },
  )
})

test('money: no more is refunded than was paid, or an anomaly says so; what was refunded decides the status', () => {
  fc.assert(
    fc.property(stream, (steps) => {
      const shop = new Shop(ORDER_IDS).play(steps)
      for (const orderId of ORDER_IDS) {
        const { order, facts, anomalies } = shop.row(orderId)
        const known = [...facts.values()].filter(({ outcome }) => outcome !== 'held')
        for (const payment of known.filter(({ eventType }) => eventType === 'payment_succeeded')) {
          const refundedMinor = refundedOf(payment, known)
          const said = anomalies.has(`over_refund:${factCause(payment)}`)
          expect(said).toBe(refundedMinor > payment.amountMinor)
          if (order.acceptedRef === payment.providerRef)
            expect(order.status === 'refunded').toBe(refundedMinor >= payment.amountMinor)
        }
        // A refund stays held exactly as long as its payment is not known.
        for (const { paymentRef, outcome, eventType } of facts.values())
          if (eventType === 'refund_succeeded' && order.status !== 'awaited')
            expect(outcome === 'held').toBe(!known.some((one) => isPayment(one, paymentRef)))
      }
    }),
    { numRuns: 2_000, seed },
  )
})

test('the refunds that workers hear of add up to what was refunded', () => {
  fc.assert(
    fc.property(fc.array(step([1]), { maxLength: 30 }), (all) => {
      const steps = all.filter(({ kind }) => kind !== 'resolve')
      const shop = new Shop([1]).play([{ kind: 'create', orderId: 1 }, ...steps])
      const { order, facts } = shop.row(1)
      const payment = facts.get(`payment_succeeded/${order.acceptedRef ?? ''}`)
      const heard = shop.events.filter(({ topic }) => topic === 'fulfillment.points.v1')
      if (payment === undefined || heard.length === 0) return
      const heardMinor = heard
        .filter(({ kind }) => kind === 'refund' || kind === 'revoke')
        .reduce((sum, { amountMinor }) => sum + (amountMinor ?? 0), 0)
      const refundedMinor = refundedOf(payment, [...facts.values()])
      // What goes beyond the whole is for a person, not for workers.
      if (refundedMinor <= payment.amountMinor) expect(heardMinor).toBe(refundedMinor)
      else expect(heardMinor).toBeGreaterThanOrEqual(payment.amountMinor)
    }),
    { numRuns: 1_500, seed },
  )
})

test('the oracle: one payment, its refunds, shipping and closing, told by a model that knows nothing of tables', () => {
  const refundOf = (n: number) => aRefund('p', [2_000, 3_000, 5_000, 6_000][n], { providerRef: `r${n}` })
  const simple = fc.oneof(
    fc.constant<Step>(fact(aPayment('p'))),
    fc.integer({ min: 0, max: 3 }).map((n): Step => fact(refundOf(n))),
    fc.constant<Step>(fact(aFact('shipment_completed', { providerRef: 'parcel' }))),
    fc.constant<Step>({ kind: 'close', orderId: 1, commandId: 1 }),
    fc.constant<Step>({ kind: 'expire', orderId: 1, timerId: 1 }),
  )
  fc.assert(
    fc.property(fc.array(simple, { maxLength: 14 }), (steps) => {
      const shop = new Shop([1]).play([{ kind: 'create', orderId: 1 }, ...steps])
      const emitted = shop.events.filter(({ sequence }) => sequence !== null)
      expect(emitted.map(({ kind, topic, cause }) => `${cause} ${kind} ${topic.split('.')[1] ?? ''}`)).toEqual(
        expectedEvents(steps),
      )
    }),
    { numRuns: 3_000, seed },
  )
})

/** Written from the promise to the warehouse, not from the tables: refunds before the payment count with it. */
function expectedEvents(steps: readonly Step[]): string[] {
  const events: string[] = []
  const seen = new Set<string>()
  let [refundedMinor, early]: [number, Fact[]] = [0, []]
  let [isPaid, isShipped, isClosed, isOver] = [false, false, false, false]
  const tell = (cause: string, ...what: string[]) => events.push(...what.map((one) => `${cause} ${one}`))
  const giveBack = (one: Fact) => {
    refundedMinor += one.amountMinor
    if (refundedMinor < AMOUNT) tell(factCause(one), 'refund shipment', 'refund inventory', 'refund points')
    else {
      isOver = true
      if (isShipped) tell(factCause(one), 'return shipment', 'revoke points')
      else tell(factCause(one), 'cancel shipment', 'restore inventory', 'revoke points')
    }
  }
  for (const one of steps) {
    if (one.kind === 'close' || one.kind === 'expire') {
      if (!isPaid && !isOver && !isClosed) {
        isClosed = true
        tell(one.kind, 'unreserve inventory')
      }
      continue
    }
    if (one.kind !== 'fact' || seen.has(factCause(one.fact))) continue
    seen.add(factCause(one.fact))
    if (isOver) continue
    const { eventType } = one.fact
    if (eventType === 'shipment_completed') isShipped = isPaid
    else if (eventType === 'refund_succeeded' && isPaid) giveBack(one.fact)
    else if (eventType === 'refund_succeeded') early.push(one.fact)
    // The payment here is later than the order's expiry, so a closed order does not take it.
    else if (eventType === 'payment_succeeded' && !isClosed) {
      if (early.reduce((sum, { amountMinor }) => sum + amountMinor, 0) >= AMOUNT) isOver = true
      else {
        isPaid = true
        tell(factCause(one.fact), 'ship shipment', 'deduct inventory', 'grant points')
        early.sort((a, b) => (a.providerRef < b.providerRef ? -1 : 1)).forEach(giveBack)
      }
      early = []
    }
  }
  return events
}

const isPayment = (one: Fact, ref: string | null) => one.eventType === 'payment_succeeded' && one.providerRef === ref

/** The formula, word for word: max(sum of individual, max over cumulative c of c + the individual ones later than it). */
function refundedOf(payment: Fact, facts: readonly StoredFact[]): number {
  const refunds = facts.filter(
    (one) => one.eventType === 'refund_succeeded' && one.paymentRef === payment.providerRef && one.outcome !== 'held',
  )
  const individual = refunds.filter(({ amountKind }) => amountKind === 'individual')
  const sum = (some: readonly Fact[]) => some.reduce((total, { amountMinor }) => total + amountMinor, 0)
  const cumulative = refunds
    .filter(({ amountKind }) => amountKind === 'cumulative')
    .map((c) => c.amountMinor + sum(individual.filter(({ eventTimeMs }) => eventTimeMs > c.eventTimeMs)))
  return Math.max(sum(individual), ...cumulative)
}
