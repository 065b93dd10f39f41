import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { endOf, type Step } from '../../src/simulator/life.ts'
import { refundedOf } from '../../src/simulator/refunded-of.ts'
import { step } from '../orders/arbitrary.ts'
import { aFact, AMOUNT, aPayment, aRefund } from '../orders/build.ts'
import { Shop, type Step as ShopStep } from '../orders/shop.ts'

const create: Step = { kind: 'create', amountMinor: AMOUNT, currency: 'CNY' }
const heard = (...facts: Extract<Step, { kind: 'message' }>['facts']): Step => ({ kind: 'message', facts })

/** The same steps, as a sender sees them; undefined: no sender sees it. */
const seenBySender = (one: ShopStep): Step | undefined => {
  if (one.kind === 'create') return create
  if (one.kind === 'close') return { kind: 'close' }
  return one.kind === 'fact' ? heard(one.fact) : undefined
}

/** What the processor makes of them, in the same words. */
function endInShop(steps: readonly ShopStep[]) {
  const shop = new Shop([1]).play(steps)
  const { order, anomalies } = shop.row(1)
  const events: Record<string, number> = {}
  for (const { kind, sequence } of shop.events) if (sequence !== null) events[kind] = (events[kind] ?? 0) + 1
  const open = [...anomalies.values()].filter(({ resolution }) => resolution === null)
  return {
    status: order.status,
    paymentRef: order.acceptedRef,
    openAnomalies: open.map(({ kind }) => kind).sort(),
    events,
  }
}

test('an order’s life, told again, ends where the processor ends it', () => {
  // A close of an order that nobody knows is refused, so that no sender takes it for a step.
  const steps = fc
    .array(step([1]), { maxLength: 14 })
    .map((all) => all.filter((one) => seenBySender(one) !== undefined))
    .filter((all) => all.some(({ kind }) => kind === 'fact'))
  fc.assert(
    fc.property(steps, (all) => {
      const { refundedMinor, ...end } = endOf(all.flatMap((one) => seenBySender(one) ?? []))
      expect(end).toEqual(endInShop(all))
      expect(refundedMinor >= AMOUNT || end.status !== 'refunded').toBe(true)
    }),
    { numRuns: 3_000 },
  )
})

describe('in a life', () => {
  const paid = aPayment('wechatpay:1')
  test.for<[string, Step[], object]>([
    ['nothing happens', [], { status: 'none', events: {} }],
    ['a callback comes first', [heard(paid)], { status: 'awaited', paymentRef: null, events: {} }],
    ['it is paid', [create, heard(paid)], { status: 'paid', events: { ship: 1, deduct: 1, grant: 1 } }],
    [
      'a part goes back',
      [create, heard(aRefund('wechatpay:1', 10), paid)],
      { status: 'paid', refundedMinor: 10, events: { ship: 1, deduct: 1, grant: 1, refund: 3 } },
    ],
    ['all of it went back first', [create, heard(aRefund('wechatpay:1'), paid)], { status: 'refunded', events: {} }],
    [
      'it is closed and paid',
      [create, { kind: 'close' }, heard(paid)],
      { status: 'closed', openAnomalies: ['paid_after_close'], events: { unreserve: 1 } },
    ],
    [
      'a payment too many goes back',
      [create, heard(paid), heard(aPayment('alipay:2')), heard(aRefund('alipay:2'))],
      { status: 'paid', openAnomalies: [], refundedMinor: 0 },
    ],
    [
      'a parcel leaves and comes back',
      [create, heard(paid), heard(aFact('shipment_completed')), heard(aFact('goods_returned'))],
      { status: 'shipped', events: { ship: 1, deduct: 1, grant: 1, restore: 1 } },
    ],
  ])('%s', ([, steps, end]) => expect(endOf(steps)).toMatchObject(end))
})

test('a cumulative figure and what came after it add up; what it covers does not count twice', () => {
  const refund = (
    amountMinor: number,
    eventTimeMs: number,
    amountKind: 'individual' | 'cumulative' = 'individual',
  ) => ({
    ...{ amountMinor, eventTimeMs, amountKind },
  })
  expect(refundedOf([])).toBe(0)
  expect(refundedOf([refund(30, 1), refund(30, 1, 'cumulative')])).toBe(30)
  expect(refundedOf([refund(30, 1), refund(30, 1, 'cumulative'), refund(20, 2)])).toBe(50)
  expect(refundedOf([refund(30, 1, 'cumulative'), refund(80, 2, 'cumulative')])).toBe(80)
})
