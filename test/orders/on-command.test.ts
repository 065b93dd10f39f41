import { describe, expect, test } from 'vitest'
import { decideCreate } from '../../src/orders/create.ts'
import type { Item, OrderView } from '../../src/orders/decision.ts'
import { RESOLUTIONS, STATUSES, type AnomalyKind, type Resolution, type Status } from '../../src/orders/model.ts'
import { allowedResolutions } from '../../src/orders/resolve.ts'
import { bodyHash, canonicalBody, type OrderBody } from '../../src/orders/order-body.ts'
import { aFact, aPayment, aRefund, decide, effectsOf, fact, NOW_MS, open, orderIn, stored } from './build.ts'

const CLOSE: Item = { kind: 'close', orderId: 1, commandId: 1 }
const EXPIRE: Item = { kind: 'expire', orderId: 1, timerId: 1 }
const body: OrderBody = {
  merchant: 'shop',
  outTradeNo: 'A-1',
  amountMinor: 100,
  currency: 'CNY',
  expiresAtMs: 5,
  groupKey: null,
  payload: 'p',
}
const existing = (status: Status) =>
  status === 'awaited' ? ({ status } as const) : ({ status, bodyHash: bodyHash(body), terms: body } as const)

describe.each(STATUSES)('%s', (status) => {
  test('× create', () => {
    const same = decideCreate(existing(status), body)
    const other = decideCreate(existing(status), { ...body, amountMinor: 101 })
    if (status === 'awaited') {
      expect([same, other]).toEqual([{ kind: 'create' }, { kind: 'create' }])
      return
    }
    expect(same).toEqual({ kind: 'same' })
    expect(other).toEqual({ kind: 'differs', field: 'amount_minor' })
  })

  test('× close', () => {
    const view = orderIn(status)
    const decision = decide(view, CLOSE)
    const { outcomes, ...rest } = effectsOf(view, decision)
    const isPending = status === 'pending'
    expect(rest).toEqual({
      status: isPending ? 'closed' : status,
      events: isPending ? ['unreserve'] : [],
      opened: [],
      resolved: [],
    })
    const answer = {
      awaited: 'unknown_order',
      pending: 'done',
      paid: 'already_paid',
      shipped: 'already_paid',
      closed: 'done',
      refunded: 'already_refunded',
    }
    expect(outcomes).toEqual([answer[status]])
    if (!isPending) return
    expect(decision.orders).toMatchObject([{ closedBy: 'merchant', closedAtMs: NOW_MS, version: 8 }])
    expect(decision.events).toMatchObject([{ cause: 'close', sequence: 1, topic: 'fulfillment.inventory.v1' }])
    expect(decision.doneTimers).toEqual([{ orderId: 1, kind: 'expiry', ref: '' }])
  })

  test('× expire', () => {
    const view = orderIn(status)
    const decision = decide(view, EXPIRE)
    const isPending = status === 'pending'
    expect(effectsOf(view, decision)).toEqual({
      outcomes: ['done'],
      status: isPending ? 'closed' : status,
      events: isPending ? ['unreserve'] : [],
      opened: [],
      resolved: [],
    })
    expect(decision.doneTimers).toEqual([{ orderId: 1, kind: 'expiry', ref: '' }])
    if (isPending) expect(decision.orders).toMatchObject([{ closedBy: 'expiry', closedAtMs: NOW_MS }])
    if (isPending) expect(decision.events).toMatchObject([{ cause: 'expire', sequence: 1 }])
  })

  describe('× resolve', () => {
    const payment = aPayment('other')
    const withAnomaly = (kind: AnomalyKind, resolution: string | null = null) =>
      orderIn(status, {}, { facts: [stored(payment, 'anomaly')], anomalies: [open(kind, payment, resolution)] })
    const revival: Partial<Record<Status, Resolution>> = {
      pending: 'accept_payment',
      closed: 'accept_payment',
      refunded: 'reopen',
    }

    test.each(RESOLUTIONS)("a payment's anomaly: %s", (resolution) => {
      const view = withAnomaly('double_payment')
      const effects = effectsOf(view, decide(view, resolve(resolution)))
      const allowed = [revival[status], 'refund_outside', 'ignore']
      if (!allowed.includes(resolution)) {
        expect(effects).toEqual({ outcomes: ['not_allowed'], status, events: [], opened: [], resolved: [] })
        return
      }
      const isRevived = resolution === revival[status]
      expect(effects).toEqual({
        outcomes: ['done'],
        status: isRevived ? 'paid' : status,
        events: isRevived ? ['ship', 'deduct', 'grant'] : [],
        opened: [],
        resolved: [`double_payment: ${resolution}`],
      })
    })
    test('any other: ignore', () => {
      const view = withAnomaly('disputed')
      expect(effectsOf(view, decide(view, resolve('ignore')))).toMatchObject({ resolved: ['disputed: ignore'], status })
      for (const other of ['accept_payment', 'reopen', 'refund_outside'] as const)
        expect(effectsOf(view, decide(view, resolve(other)))).toMatchObject({ outcomes: ['not_allowed'], resolved: [] })
    })
    test('once: the same answer is the same answer, another is refused', () => {
      const view = withAnomaly('double_payment', 'ignore')
      const again = decide(view, resolve('ignore'), resolve('refund_outside'), resolve('ignore', 900, 'bob'))
      expect(effectsOf(view, again)).toEqual({
        outcomes: ['done', 'already_resolved', 'already_resolved'],
        status,
        events: [],
        opened: [],
        resolved: [],
      })
    })
  })
})

const resolve = (resolution: Resolution, anomalyId = 900, actor = 'ann'): Item => ({
  kind: 'resolve',
  orderId: 1,
  commandId: 1,
  anomalyId,
  resolution,
  reason: 'because',
  actor,
})

describe('what a command does besides', () => {
  test('of two that answer at once the first one counts, and the second is told who was first', () => {
    const failed = aFact('refund_failed')
    const view = orderIn('paid', {}, { facts: [stored(failed, 'anomaly')], anomalies: [open('refund_failed', failed)] })
    const decision = decide(view, resolve('refund_outside', 900, 'ann'), resolve('ignore', 900, 'bob'))
    expect(decision.outcomes).toEqual([
      { kind: 'done', status: 'paid' },
      {
        kind: 'refused',
        status: 'paid',
        refusal: { reason: 'already_resolved', resolution: 'refund_outside', by: 'ann' },
      },
    ])
    expect(decision.resolvedAnomalies).toMatchObject([{ id: 900, resolution: 'refund_outside', by: 'ann' }])
    expect(decision.events.map(({ kind, attrs }) => [kind, attrs])).toEqual([
      ['anomaly_resolved', expect.stringContaining('"resolution":"refund_outside","reason":"because","by":"ann"')],
    ])
  })
  test('whoever has claimed it answers it, and nobody else; what settles by itself still does', () => {
    const late = aPayment('late')
    const anomalies = [{ ...open('paid_after_close', late), owner: 'bob' }]
    const view = orderIn('closed', {}, { facts: [stored(late, 'anomaly')], anomalies })
    expect(decide(view, resolve('accept_payment', 900, 'ann'))).toMatchObject({
      outcomes: [{ kind: 'refused', status: 'closed', refusal: { reason: 'claimed', owner: 'bob' } }],
      ...{ orders: [], events: [], resolvedAnomalies: [] },
    })
    expect(effectsOf(view, decide(view, resolve('accept_payment', 900, 'bob')))).toMatchObject({ status: 'paid' })
    expect(decide(view, fact(aRefund('late'))).resolvedAnomalies).toMatchObject([{ resolution: 'refunded', by: null }])
    const after = decide(view, fact(aRefund('late')), resolve('refund_outside', 900, 'bob'))
    expect(after.outcomes[1]).toMatchObject({
      refusal: { reason: 'already_resolved', resolution: 'refunded', by: null },
    })
  })
  test('the answers that are offered are those that are taken', () => {
    for (const status of STATUSES)
      for (const kind of ['double_payment', 'refund_failed', 'disputed'] as const) {
        const about =
          kind === 'double_payment' ? aPayment('other') : aFact(kind === 'disputed' ? kind : 'refund_failed')
        const anomaly = open(kind, about)
        const view = orderIn(status, {}, { facts: [stored(about, 'anomaly')], anomalies: [anomaly] })
        const taken = RESOLUTIONS.filter((answer) => decide(view, resolve(answer)).outcomes[0]?.kind === 'done')
        expect([...allowedResolutions(status, anomaly)].sort()).toEqual([...taken].sort())
      }
  })
  test('an unknown anomaly', () => {
    const view = orderIn('paid')
    expect(effectsOf(view, decide(view, resolve('ignore', 1)))).toMatchObject({ outcomes: ['unknown_anomaly'] })
  })
  test('an accepted payment of another amount is what was paid; its cause names the answer', () => {
    const wrong = aPayment('wrong', { amountMinor: 500 })
    const facts = [stored(wrong, 'anomaly'), stored(aRefund('wrong', 200), 'noted')]
    const view = orderIn('pending', {}, { facts, anomalies: [open('amount_mismatch', wrong)] })
    const decision = decide(view, resolve('accept_payment'))
    expect(decision.orders).toMatchObject([{ acceptedRef: 'wrong', status: 'paid', version: 8 }])
    expect(decision.events[0]).toMatchObject({ cause: 'resolve:payment_succeeded/wrong', amountMinor: 500 })
    // What had gone back already is said at once.
    const refunds = decision.events.filter(({ kind }) => kind === 'refund')
    expect(refunds.map(({ amountMinor }) => amountMinor)).toEqual([200, 200, 200])
    expect(decision.resolvedAnomalies).toMatchObject([{ id: 900, resolution: 'accept_payment', reason: 'because' }])
    const rest = aRefund('wrong', 300, { providerRef: 'rest' })
    const full = decide(view, resolve('accept_payment'), fact(rest))
    expect(effectsOf(view, full)).toMatchObject({ status: 'refunded', opened: [] })
  })
  test('reopened: a second paid life, which ships and ends as the first did', () => {
    const second = aPayment('second')
    const view = orderIn(
      'refunded',
      {},
      { facts: [stored(second, 'anomaly')], anomalies: [open('paid_after_refund', second)] },
    )
    const shipped = aFact('shipment_completed', { providerRef: 'again' })
    const returned = aFact('goods_returned', { providerRef: 'first' })
    const decision = decide(view, fact(returned), resolve('reopen'), fact(shipped), fact(aRefund('second')))
    expect(effectsOf(view, decision)).toMatchObject({
      status: 'refunded',
      events: ['restore', 'ship', 'deduct', 'grant', 'return', 'revoke'],
    })
    const ids = decision.events.map(({ eventId }) => eventId)
    expect(new Set(ids).size).toBe(ids.length)
  })
  test('a payment is not accepted while another order of the group is paid', () => {
    const payment = aPayment('other')
    const given = (paidInGroup?: number) =>
      orderIn(
        'pending',
        { groupKey: 'g' },
        {
          facts: [stored(payment, 'anomaly')],
          anomalies: [open('double_payment', payment)],
          ...(paidInGroup === undefined ? {} : { paidInGroup }),
        },
      )
    const refused = decide(given(2), resolve('accept_payment'))
    expect(refused.outcomes).toEqual([
      { kind: 'refused', status: 'pending', refusal: { reason: 'group_is_paid', orderId: 2 } },
    ])
    expect(decide(given(), resolve('accept_payment')).groups).toEqual([{ merchant: 'shop', groupKey: 'g', orderId: 1 }])
  })
  test("a refund's wrong currency is no payment to accept", () => {
    const dollars = aRefund('p', 1, { currency: 'USD' })
    const view = orderIn(
      'pending',
      {},
      { facts: [stored(dollars, 'anomaly')], anomalies: [open('amount_mismatch', dollars)] },
    )
    expect(effectsOf(view, decide(view, resolve('accept_payment')))).toMatchObject({ outcomes: ['not_allowed'] })
  })
  test('a failed refund may have gone back outside', () => {
    const failed = aFact('refund_failed')
    const view = orderIn('paid', {}, { facts: [stored(failed, 'anomaly')], anomalies: [open('refund_failed', failed)] })
    expect(effectsOf(view, decide(view, resolve('refund_outside')))).toMatchObject({
      resolved: ['refund_failed: refund_outside'],
      status: 'paid',
    })
  })
  test('held facts come before a close or an expiry', () => {
    const held: OrderView = orderIn('pending', {}, { facts: [stored(aPayment('p'), 'held')] })
    for (const [item, outcome] of [
      [CLOSE, 'already_paid'],
      [EXPIRE, 'done'],
    ] as const)
      expect(effectsOf(held, decide(held, item))).toMatchObject({ outcomes: [outcome], status: 'paid' })
  })
})

describe('create', () => {
  test.each([
    [{ amountMinor: 1, currency: 'USD' }, 'amount_minor'],
    [{ currency: 'USD', payload: null }, 'currency'],
    [{ expiresAtMs: 6, groupKey: 'g' }, 'expires_at'],
    [{ groupKey: 'g', payload: 'q' }, 'group'],
    [{ payload: null }, 'payload'],
  ])('names the first field that differs: %o', (changes, field) => {
    expect(decideCreate(existing('paid'), { ...body, ...changes })).toEqual({ kind: 'differs', field })
  })
  test('the hash decides: what it vouches for need not be read', () => {
    const unread = { ...body, payload: null }
    expect(decideCreate({ status: 'paid', bodyHash: bodyHash(body), terms: unread }, body)).toEqual({ kind: 'same' })
  })
  test('a hash of another canonical form does not refuse what says the same', () => {
    expect(decideCreate({ status: 'pending', bodyHash: null, terms: body }, body)).toEqual({ kind: 'same' })
  })
  test('the canonical body is the same whatever order the keys came in', () => {
    const shuffled = Object.fromEntries(Object.entries(body).reverse()) as unknown as OrderBody
    expect(canonicalBody(shuffled)).toBe(canonicalBody(body))
    expect(canonicalBody(body)).toBe(
      '[["merchant","shop"],["out_trade_no","A-1"],["amount_minor",100],["currency","CNY"],["expires_at",5],["group",null],["payload","p"]]',
    )
    expect(bodyHash(body)).toHaveLength(32)
  })
})
