import { describe, expect, test } from 'vitest'
import type { OrderView } from '../../src/orders/decision.ts'
import { FACT_KINDS, STATUSES, type Fact, type FactKind, type Status } from '../../src/orders/model.ts'
import {
  aFact,
  aPayment,
  aRefund,
  decide,
  effectsOf,
  EXPIRES_MS,
  fact,
  open,
  orderIn,
  PAID_REF,
  stored,
} from './build.ts'

interface Expected {
  readonly outcome: string
  /** The status does not change where this is missing; nothing is emitted or opened. */
  readonly to?: Status
  readonly emits?: readonly string[]
  readonly opens?: string
  readonly resolves?: string
  /** Where the plain fact says too little. */
  readonly given?: { readonly view?: OrderView; readonly fact?: Fact }
}

const held: Expected = { outcome: 'held' }
const noted: Expected = { outcome: 'noted' }
const anomaly = (kind: string): Expected => ({ outcome: kind, opens: kind })
const refundOf = (view: OrderView, amountMinor = 10_000) => ({ view, fact: aRefund(PAID_REF, amountMinor) })
const late = aPayment('late')

/** One row per cell. The fact is a plain one of its kind, the order a plain one of its status. */
const CELLS: Record<Status, Record<FactKind, Expected>> = {
  awaited: {
    payment_succeeded: held,
    payment_failed: held,
    refund_succeeded: held,
    refund_failed: held,
    disputed: held,
    provider_closed: held,
    shipment_completed: held,
    fulfillment_failed: held,
    goods_returned: held,
    bill_differs: held,
  },
  pending: {
    payment_succeeded: { outcome: 'applied', to: 'paid', emits: ['ship', 'deduct', 'grant'] },
    payment_failed: noted,
    refund_succeeded: held,
    refund_failed: anomaly('refund_failed'),
    disputed: anomaly('disputed'),
    provider_closed: { outcome: 'applied', to: 'closed', emits: ['unreserve'] },
    shipment_completed: anomaly('shipped_unpaid'),
    fulfillment_failed: noted,
    goods_returned: noted,
    bill_differs: anomaly('bill_differs'),
  },
  paid: {
    payment_succeeded: anomaly('double_payment'),
    payment_failed: noted,
    refund_succeeded: {
      outcome: 'applied',
      to: 'refunded',
      emits: ['cancel', 'restore', 'revoke'],
      given: refundOf(orderIn('paid')),
    },
    refund_failed: anomaly('refund_failed'),
    disputed: anomaly('disputed'),
    provider_closed: anomaly('closed_after_payment'),
    shipment_completed: { outcome: 'applied', to: 'shipped' },
    fulfillment_failed: anomaly('fulfillment_failed'),
    goods_returned: noted,
    bill_differs: anomaly('bill_differs'),
  },
  shipped: {
    payment_succeeded: anomaly('double_payment'),
    payment_failed: noted,
    refund_succeeded: {
      outcome: 'applied',
      to: 'refunded',
      emits: ['return', 'revoke'],
      given: refundOf(orderIn('shipped')),
    },
    refund_failed: anomaly('refund_failed'),
    disputed: anomaly('disputed'),
    provider_closed: noted,
    shipment_completed: noted,
    fulfillment_failed: anomaly('fulfillment_failed'),
    goods_returned: { outcome: 'applied', emits: ['restore'] },
    bill_differs: anomaly('bill_differs'),
  },
  closed: {
    payment_succeeded: anomaly('paid_after_close'),
    payment_failed: noted,
    refund_succeeded: {
      outcome: 'applied',
      resolves: 'paid_after_close: refunded',
      given: {
        view: orderIn('closed', {}, { facts: [stored(late, 'anomaly')], anomalies: [open('paid_after_close', late)] }),
        fact: aRefund('late'),
      },
    },
    refund_failed: anomaly('refund_failed'),
    disputed: anomaly('disputed'),
    provider_closed: noted,
    shipment_completed: anomaly('shipped_closed'),
    fulfillment_failed: noted,
    goods_returned: noted,
    bill_differs: anomaly('bill_differs'),
  },
  refunded: {
    payment_succeeded: anomaly('paid_after_refund'),
    payment_failed: noted,
    refund_succeeded: {
      ...anomaly('over_refund'),
      given: { fact: aRefund(PAID_REF, 1, { providerRef: 'one-more' }) },
    },
    refund_failed: anomaly('refund_failed'),
    disputed: anomaly('disputed'),
    provider_closed: noted,
    shipment_completed: anomaly('shipped_refunded'),
    fulfillment_failed: noted,
    goods_returned: { outcome: 'applied', emits: ['restore'] },
    bill_differs: anomaly('bill_differs'),
  },
}

describe.each(STATUSES)('%s', (status) => {
  test.each(FACT_KINDS)('× %s', (kind) => {
    const { outcome, to = status, emits = [], opens, resolves, given } = CELLS[status][kind]
    const view = given?.view ?? orderIn(status)
    const decision = decide(view, fact(given?.fact ?? aFact(kind)))
    expect(effectsOf(view, decision)).toEqual({
      outcomes: [outcome],
      status: to,
      events: emits,
      opened: opens === undefined ? [] : [opens],
      resolved: resolves === undefined ? [] : [resolves],
    })
    const [newFact] = decision.newFacts
    expect(newFact?.fact.outcome).toBe(opens === undefined ? outcome : 'anomaly')
    expect(decision.orders[0]?.heldCount).toBe(outcome === 'held' ? 1 : 0)
    expect(decision.newTimers.map((timer) => timer.kind)).toEqual(outcome === 'held' ? ['held_limit'] : [])
  })
})

describe('what a cell does besides', () => {
  const effects = (view: OrderView, ...facts: Fact[]) => effectsOf(view, decide(view, ...facts.map((one) => fact(one))))

  test('a payment moves the order: its reference, its time, the expiry timer', () => {
    const decision = decide(orderIn('pending'), fact(aPayment('p', { eventTimeMs: 123 })))
    expect(decision.orders).toMatchObject([
      { status: 'paid', acceptedRef: 'p', paidAtMs: 123, version: 8, sequence: 3 },
    ])
    expect(decision.doneTimers).toEqual([{ orderId: 1, kind: 'expiry', ref: '' }])
    expect(decision.events[0]).toMatchObject({
      kind: 'ship',
      topic: 'fulfillment.shipment.v1',
      sequence: 1,
      cause: 'payment_succeeded/p',
      amountMinor: 10_000,
      currency: 'CNY',
      paymentRef: 'p',
      occurredAtMs: 123,
    })
  })
  test.each(['pending', 'paid', 'shipped', 'closed', 'refunded'] as const)(
    '%s: a payment of a wrong amount',
    (status) => {
      const view = orderIn(status)
      for (const changes of [{ amountMinor: 9_999 }, { currency: 'USD' }])
        expect(effects(view, aPayment('wrong', changes))).toMatchObject({
          opened: ['amount_mismatch'],
          status,
          events: [],
        })
    },
  )
  test('closed by expiry: a payment from before it is accepted, one from the very moment is not', () => {
    const view = orderIn('closed', { closedBy: 'expiry' })
    const before = decide(view, fact(aPayment('p', { eventTimeMs: EXPIRES_MS - 1 })))
    expect(effectsOf(view, before)).toMatchObject({ status: 'paid', events: ['ship', 'deduct', 'grant'], opened: [] })
    expect(before.orders).toMatchObject([{ closedBy: null, closedAtMs: null, acceptedRef: 'p' }])
    expect(effects(view, aPayment('p', { eventTimeMs: EXPIRES_MS }))).toMatchObject({ opened: ['paid_after_close'] })
  })
  test.each(['merchant', 'provider'] as const)('closed by the %s: an earlier payment is an anomaly', (closedBy) => {
    const early = aPayment('p', { eventTimeMs: EXPIRES_MS - 1 })
    expect(effects(orderIn('closed', { closedBy }), early)).toMatchObject({ opened: ['paid_after_close'] })
  })
  test.each(['pending', 'closed'] as const)('%s: another order of its group is paid', (status) => {
    const view = orderIn(status, { groupKey: 'g', closedBy: 'expiry' }, { paidInGroup: 2 })
    const payment = aPayment('p', { eventTimeMs: EXPIRES_MS - 1 })
    expect(effects(view, payment)).toMatchObject({ status, events: [], opened: ['double_payment'] })
  })
  test('the provider closes it: by whom and when', () => {
    const decision = decide(orderIn('pending'), fact(aFact('provider_closed', { eventTimeMs: 5 })))
    expect(decision.orders).toMatchObject([{ closedBy: 'provider', closedAtMs: 5 }])
    expect(decision.doneTimers).toEqual([{ orderId: 1, kind: 'expiry', ref: '' }])
  })
  test.each(['paid', 'shipped'] as const)('%s: a partial refund goes to all three topics', (status) => {
    const view = orderIn(status)
    const decision = decide(view, fact(aRefund(PAID_REF, 4_000)))
    expect(effectsOf(view, decision)).toMatchObject({
      status,
      events: ['refund', 'refund', 'refund'],
      outcomes: ['applied'],
    })
    expect(decision.events.map(({ sequence, amountMinor }) => [sequence, amountMinor])).toEqual([
      [4, 4_000],
      [5, 4_000],
      [6, 4_000],
    ])
    expect(decision.events[0]?.attrs).toBe('{"refundedMinor":4000}')
  })
  test('partial refunds that reach the whole end the order', () => {
    const view = orderIn('paid')
    const parts = [4_000, 6_000].map((minor, n) => aRefund(PAID_REF, minor, { providerRef: `r${n}` }))
    expect(effects(view, ...parts)).toMatchObject({
      status: 'refunded',
      events: ['refund', 'refund', 'refund', 'cancel', 'restore', 'revoke'],
      opened: [],
    })
  })
  test.each(['paid', 'shipped'] as const)('%s: more is refunded than was paid', (status) => {
    expect(effects(orderIn(status), aRefund(PAID_REF, 10_001))).toMatchObject({
      status: 'refunded',
      opened: ['over_refund'],
    })
  })
  test.each(['pending', 'paid', 'shipped', 'closed', 'refunded'] as const)(
    '%s: a refund in another currency',
    (status) => {
      const wrong = aPayment('wrong', { amountMinor: 1 })
      const view = orderIn(
        status,
        {},
        { facts: [stored(wrong, 'anomaly')], anomalies: [open('amount_mismatch', wrong)] },
      )
      expect(effects(view, aRefund('wrong', 1, { currency: 'USD' }))).toMatchObject({
        opened: ['amount_mismatch'],
        resolved: [],
      })
    },
  )
  test.each(['pending', 'paid', 'shipped', 'closed', 'refunded'] as const)(
    '%s: the refund of an unknown payment is held',
    (status) => {
      expect(effects(orderIn(status), aRefund('never-seen'))).toMatchObject({ outcomes: ['held'], status, events: [] })
      expect(effects(orderIn(status), aRefund('x', 1, { paymentRef: null }))).toMatchObject({ outcomes: ['held'] })
    },
  )
  test.each(['pending', 'paid', 'shipped', 'closed', 'refunded'] as const)(
    "%s: the refund of an anomaly's payment closes it, when it is the whole",
    (status) => {
      const wrong = aPayment('wrong', { amountMinor: 500 })
      const view = orderIn(
        status,
        {},
        { facts: [stored(wrong, 'anomaly')], anomalies: [open('amount_mismatch', wrong)] },
      )
      const [part, rest, more] = [200, 300, 1].map((minor) => aRefund('wrong', minor, { providerRef: `r${minor}` }))
      if (part === undefined || rest === undefined || more === undefined) throw new Error('three refunds')
      expect(effects(view, part)).toMatchObject({ outcomes: ['noted'], resolved: [], opened: [], status, events: [] })
      expect(effects(view, part, rest)).toMatchObject({
        outcomes: ['noted', 'applied'],
        resolved: ['amount_mismatch: refunded'],
        opened: [],
        status,
        events: [],
      })
      expect(effects(view, part, rest, more)).toMatchObject({ opened: ['over_refund'] })
    },
  )
  test.each(['pending', 'paid', 'shipped', 'closed', 'refunded'] as const)(
    '%s: the refund of a payment that an operator has settled otherwise',
    (status) => {
      const given = (resolution: string) =>
        orderIn(status, {}, { facts: [stored(late, 'anomaly')], anomalies: [open('double_payment', late, resolution)] })
      expect(effects(given('ignore'), aRefund('late'))).toMatchObject({ opened: ['refund_of_unaccepted_payment'] })
      expect(effects(given('refund_outside'), aRefund('late'))).toMatchObject({ outcomes: ['noted'], opened: [] })
    },
  )
  test('a refund in another currency, once known, never counts', () => {
    const dollars = aRefund(PAID_REF, 9_000, { providerRef: 'usd', currency: 'USD' })
    const view = orderIn('paid', {}, { facts: [stored(dollars, 'anomaly')] })
    expect(effects(view, aRefund(PAID_REF, 1_000))).toMatchObject({ status: 'paid', outcomes: ['applied'] })
  })
  test('a full refund frees the group, a partial one does not', () => {
    const view = orderIn('paid', { groupKey: 'g' }, { paidInGroup: 1 })
    expect(decide(view, fact(aRefund(PAID_REF, 9_999))).groups).toEqual([])
    expect(decide(view, fact(aRefund(PAID_REF))).groups).toEqual([{ merchant: 'shop', groupKey: 'g', orderId: null }])
    const ofAnother = orderIn('paid', { groupKey: 'g' }, { paidInGroup: 2 })
    expect(decide(ofAnother, fact(aRefund(PAID_REF))).groups).toEqual([])
  })
  test.each(['paid', 'shipped'] as const)('%s: what a cumulative figure had covered is noted', (status) => {
    const sum = aRefund(PAID_REF, 4_000, { providerRef: 'sum', amountKind: 'cumulative' })
    const view = orderIn(status, {}, { facts: [stored(sum)] })
    const line = aRefund(PAID_REF, 4_000, { providerRef: 'line' })
    expect(effects(view, line)).toMatchObject({ outcomes: ['noted'], events: [], status })
  })
  test('one over-refund per payment; after an operator settled it, one per further refund', () => {
    const more = (ref: string) => aRefund(PAID_REF, 1, { providerRef: ref })
    const twice = decide(orderIn('refunded'), fact(more('a')), fact(more('b')))
    expect(twice.openedAnomalies.map(({ cause }) => cause)).toEqual([`payment_succeeded/${PAID_REF}`])
    const settled = orderIn('refunded', {}, { anomalies: [open('over_refund', aPayment(PAID_REF), 'ignore')] })
    const third = decide(settled, fact(more('c')))
    expect(third.openedAnomalies.map(({ cause }) => cause)).toEqual(['refund_succeeded/c'])
    const line = aRefund(PAID_REF, 1, { providerRef: 'sum', amountKind: 'cumulative' })
    const over = stored(more('a'), 'anomaly')
    const known = orderIn(
      'refunded',
      {},
      { facts: [over], anomalies: [open('over_refund', aPayment(PAID_REF), 'ignore')] },
    )
    expect(effects(known, line)).toMatchObject({ outcomes: ['noted'], opened: [] })
  })
  test('goods that were shipped come back once; those of a cancelled order were restored by the cancel', () => {
    const reports = ['a', 'b'].map((ref) => aFact('goods_returned', { providerRef: ref }))
    expect(effects(orderIn('shipped'), ...reports)).toMatchObject({
      outcomes: ['applied', 'noted'],
      events: ['restore'],
    })
    expect(effects(orderIn('paid'), aRefund(PAID_REF), ...reports)).toMatchObject({
      events: ['cancel', 'restore', 'revoke'],
      outcomes: ['applied', 'noted', 'noted'],
    })
  })
  test.each(STATUSES)(
    '%s: the same again is a duplicate; with another amount, currency or amount kind a conflict',
    (status) => {
      const known = aRefund('x', 700, { providerRef: 'r' })
      const view = orderIn(
        status,
        {},
        { facts: [stored(known, status === 'awaited' ? 'held' : 'noted'), stored(aPayment('x'), 'noted')] },
      )
      const again = { ...known, eventTimeMs: 1, detail: 'said otherwise', paymentRef: 'x' }
      expect(effects(view, again)).toMatchObject({ outcomes: ['duplicate'], opened: [], status })
      const others = [{ amountMinor: 701 }, { currency: 'USD' }, { amountKind: 'cumulative' as const }]
      for (const other of others) {
        const decision = decide(view, fact({ ...known, ...other }), fact({ ...known, ...other }))
        expect(effectsOf(view, decision)).toMatchObject({
          outcomes: ['conflict', 'conflict'],
          opened: ['conflicting_fact'],
        })
        expect(decision.newFacts).toEqual([])
      }
    },
  )
})
