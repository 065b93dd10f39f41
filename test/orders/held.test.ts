import { describe, expect, test } from 'vitest'
import type { Item } from '../../src/orders/decision.ts'
import {
  aFact,
  aPayment,
  aRefund,
  decide,
  effectsOf,
  fact,
  NOW_MS,
  open,
  OPTIONS,
  orderIn,
  PAID_REF,
  stored,
} from './build.ts'

const RELEASE: Item = { kind: 'release', orderId: 1 }
const limit = (ref: string): Item => ({ kind: 'held_limit', orderId: 1, timerId: 1, ref })
const held = (...facts: ReturnType<typeof aFact>[]) => ({ facts: facts.map((one) => stored(one, 'held')) })

describe('held facts go when what they wait for appears', () => {
  test('a fact of an unknown order gets a timer and moves nothing', () => {
    const decision = decide(orderIn('awaited'), fact(aPayment('p')))
    expect(decision.newTimers).toEqual([
      { orderId: 1, kind: 'held_limit', ref: 'payment_succeeded/p', dueAtMs: NOW_MS + OPTIONS.heldLimitMs },
    ])
    expect(decision.orders).toMatchObject([{ status: 'awaited', heldCount: 1, version: 8 }])
    expect(decision.newFacts).toMatchObject([{ orderId: 1, fact: { outcome: 'held' } }])
  })
  test('the order was created: its payment counts, its timer is done', () => {
    const view = orderIn('pending', {}, held(aPayment('p')))
    const decision = decide(view, RELEASE)
    expect(effectsOf(view, decision)).toMatchObject({
      outcomes: ['done'],
      status: 'paid',
      events: ['ship', 'deduct', 'grant'],
    })
    expect(decision.changedFacts).toEqual([
      { orderId: 1, eventType: 'payment_succeeded', providerRef: 'p', outcome: 'applied' },
    ])
    expect(decision.newFacts).toEqual([])
    expect(decision.orders).toMatchObject([{ heldCount: 0, version: 8 }])
    expect(decision.doneTimers).toEqual([
      { orderId: 1, kind: 'expiry', ref: '' },
      { orderId: 1, kind: 'held_limit', ref: 'payment_succeeded/p' },
    ])
    // A held callback's age is no measure of speed.
    expect(decision.events.map(({ receivedAtMs }) => receivedAtMs)).toEqual([null, null, null])
  })
  test('in event-time order, before what the batch brings', () => {
    const [late, early] = [aPayment('late', { eventTimeMs: 2 }), aPayment('early', { eventTimeMs: 1 })]
    const view = orderIn('pending', {}, held(late, early))
    const decision = decide(view, fact(aPayment('new', { eventTimeMs: 0 })))
    expect(decision.orders).toMatchObject([{ acceptedRef: 'early' }])
    expect(decision.openedAnomalies.map(({ kind, cause }) => [kind, cause])).toEqual([
      ['double_payment', 'payment_succeeded/late'],
      ['double_payment', 'payment_succeeded/new'],
    ])
  })
  test('at the same moment, the payment goes first and the reference decides between two', () => {
    const all = [aFact('provider_closed'), aPayment('z2'), aPayment('z1')]
    for (const order of [all, all.toReversed()])
      expect(decide(orderIn('pending', {}, held(...order)), RELEASE).orders).toMatchObject([{ acceptedRef: 'z1' }])
  })
  test('nothing is tried while the order is unknown', () => {
    const decision = decide(orderIn('awaited', {}, held(aPayment('p'))), RELEASE)
    expect(decision).toMatchObject({ orders: [], changedFacts: [], events: [], doneTimers: [] })
  })
  test('a payment that comes later takes its held refunds along, and only its own', () => {
    const view = orderIn('pending', {}, held(aRefund('p', 3_000), aRefund('q', 3_000)))
    const decision = decide(view, fact(aPayment('p')))
    expect(effectsOf(view, decision).events).toEqual(['ship', 'deduct', 'grant', 'refund', 'refund', 'refund'])
    expect(decision.changedFacts).toMatchObject([{ providerRef: 'refund-of-p', outcome: 'applied' }])
    expect(decision.orders).toMatchObject([{ heldCount: 1, version: 9 }])
  })
  test('fully refunded before it was known to be paid: refunded, and nothing is emitted at all', () => {
    const parts = [4_000, 6_000].map((minor) => aRefund('p', minor, { providerRef: `r${minor}` }))
    for (const view of [
      orderIn('pending', {}, held(...parts)),
      orderIn('pending', {}, held(aPayment('p'), ...parts)),
    ]) {
      const decision = decide(view, fact(aPayment('p')))
      expect(effectsOf(view, decision)).toMatchObject({ status: 'refunded', events: [], opened: [] })
      expect(decision.orders).toMatchObject([{ sequence: 0, heldCount: 0, acceptedRef: 'p' }])
    }
  })
  test('so too in one batch, and a group that stays free', () => {
    const view = orderIn('pending', { groupKey: 'g' })
    const decision = decide(view, fact(aRefund('p')), fact(aPayment('p')))
    expect(effectsOf(view, decision)).toMatchObject({ outcomes: ['held', 'applied'], status: 'refunded', events: [] })
    expect(decision).toMatchObject({ groups: [], newTimers: [], changedFacts: [] })
    expect(decision.newFacts.map((one) => one.fact.outcome)).toEqual(['noted', 'applied'])
  })
  test('refunded by more than was paid: silent for workers, not for people', () => {
    const view = orderIn('pending', {}, held(aRefund('p', 10_001)))
    expect(effectsOf(view, decide(view, fact(aPayment('p'))))).toMatchObject({
      status: 'refunded',
      events: [],
      opened: ['over_refund'],
    })
  })
  test('a refund in another currency silences nothing', () => {
    const view = orderIn('pending', {}, held(aRefund('p', 10_000, { currency: 'USD' })))
    expect(effectsOf(view, decide(view, fact(aPayment('p'))))).toMatchObject({
      status: 'paid',
      events: ['ship', 'deduct', 'grant'],
      opened: ['amount_mismatch'],
    })
  })
  test('what follows from a fact that was held has no callback to be measured from, also within one batch', () => {
    const { events } = decide(orderIn('pending'), fact(aRefund('p', 1)), fact(aPayment('p')))
    expect(events.map(({ kind, receivedAtMs }) => [kind, receivedAtMs])).toEqual([
      ['ship', NOW_MS],
      ['deduct', NOW_MS],
      ['grant', NOW_MS],
      ['refund', null],
      ['refund', null],
      ['refund', null],
    ])
  })
  test('a held refund of a payment that does not move the order settles it', () => {
    const view = orderIn('paid', {}, held(aRefund('second')))
    const decision = decide(view, fact(aPayment('second')))
    expect(effectsOf(view, decision)).toMatchObject({ status: 'paid', events: [], opened: ['double_payment'] })
    expect(decision.openedAnomalies).toMatchObject([{ kind: 'double_payment', resolution: 'refunded' }])
    expect(decision.events.map(({ kind, sequence }) => [kind, sequence])).toEqual([
      ['anomaly_opened', null],
      ['anomaly_resolved', null],
    ])
  })
})

describe('the limit of a held fact', () => {
  const payment = aPayment('p')
  const refund = aRefund('q')
  const cause = 'payment_succeeded/p'

  test('says what is missing; the fact stays held', () => {
    const unknown = decide(orderIn('awaited', {}, held(payment)), limit(cause))
    expect(unknown.openedAnomalies).toMatchObject([{ kind: 'unknown_order', cause, resolution: null }])
    expect(unknown).toMatchObject({ orders: [], changedFacts: [] })
    expect(unknown.doneTimers).toEqual([{ orderId: 1, kind: 'held_limit', ref: cause }])
    const unpaid = decide(orderIn('paid', {}, held(refund)), limit('refund_succeeded/refund-of-q'))
    expect(unpaid.openedAnomalies).toMatchObject([{ kind: 'refund_without_payment' }])
  })
  test('of a fact that went meanwhile is done', () => {
    const decision = decide(orderIn('paid'), limit(`payment_succeeded/${PAID_REF}`), limit('never/heard'))
    expect(decision.outcomes).toEqual([
      { kind: 'done', status: 'paid' },
      { kind: 'done', status: 'paid' },
    ])
    expect(decision.openedAnomalies).toEqual([])
    expect(decision.doneTimers).toHaveLength(2)
  })
  test('what it waited for comes after all: it counts, and the anomaly ends', () => {
    const known = { ...held(payment), anomalies: [open('unknown_order', payment)] }
    const decision = decide(orderIn('pending', {}, known), RELEASE)
    expect(decision.orders).toMatchObject([{ status: 'paid' }])
    expect(decision.resolvedAnomalies).toMatchObject([{ kind: 'unknown_order', cause, resolution: 'released' }])
    const unpaid = { ...held(refund), anomalies: [open('refund_without_payment', refund)] }
    expect(decide(orderIn('paid', {}, unpaid), fact(aPayment('q'))).resolvedAnomalies).toMatchObject([
      { kind: 'refund_without_payment', resolution: 'released' },
    ])
  })
  test('the order comes but the payment does not: one anomaly ends, the other begins, once', () => {
    const known = { ...held(refund), anomalies: [open('unknown_order', refund)] }
    const view = orderIn('pending', {}, known)
    expect(effectsOf(view, decide(view, RELEASE, RELEASE))).toMatchObject({
      opened: ['refund_without_payment'],
      resolved: ['unknown_order: order_created'],
    })
  })
  test('what an operator put aside stays put aside, and still counts later', () => {
    const known = { ...held(payment), anomalies: [open('unknown_order', payment, 'ignore')] }
    const decision = decide(orderIn('pending', {}, known), RELEASE)
    expect(decision.orders).toMatchObject([{ status: 'paid' }])
    expect(decision.resolvedAnomalies).toEqual([])
    expect(decision.events.map(({ kind }) => kind)).toEqual(['ship', 'deduct', 'grant'])
  })
})

describe('a timer or release that Postgres refused', () => {
  test('becomes an anomaly, and what was held is not tried again with it', () => {
    const view = orderIn('pending', {}, held(aPayment('p')))
    const item: Item = { kind: 'unprocessable', orderId: 1, cause: 'release', detail: '22003' }
    const decision = decide(view, item, item)
    expect(effectsOf(view, decision)).toMatchObject({
      outcomes: ['unprocessable', 'unprocessable'],
      status: 'pending',
      opened: ['unprocessable'],
    })
    expect(decision).toMatchObject({ orders: [], changedFacts: [] })
  })
})
