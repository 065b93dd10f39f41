import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Fact } from '../../src/orders/model.ts'
import { printedRandom } from '../helpers/seed.ts'
import { providerFact, step } from './arbitrary.ts'
import { aFact, aPayment, aRefund, EXPIRES_MS, fact } from './build.ts'
import { Shop, type Step } from './shop.ts'
import { permutations, subsets } from './subsets.ts'
import { touchesArrivalOrder } from './trace.ts'

const { seed } = printedRandom('confluence')
const CREATE: Step = { kind: 'create', orderId: 1 }

function arrive(steps: readonly Step[]) {
  const shop = new Shop([1])
  const isArrivalDependent = touchesArrivalOrder(() => shop.play(steps))
  return { isArrivalDependent, final: shop.final(1), shop }
}

test('facts that meet no ⇄ may arrive in any order: the same order, anomalies and held facts', () => {
  let compared = 0
  const facts = fc.uniqueArray(providerFact, { minLength: 2, maxLength: 7, selector: identity })
  const twoOrders = facts.chain((all) => {
    const steps: Step[] = [CREATE, ...all.map((one) => fact(one))]
    const anyOrder = fc.shuffledSubarray(steps, { minLength: steps.length, maxLength: steps.length })
    return fc.tuple(anyOrder, anyOrder)
  })
  fc.assert(
    fc.property(twoOrders, ([one, other]) => {
      const [a, b] = [arrive(one), arrive(other)]
      if (a.isArrivalDependent || b.isArrivalDependent) return
      compared += 1
      expect(b.final).toEqual(a.final)
    }),
    { numRuns: 3_000, seed },
  )
  expect(compared).toBeGreaterThan(300)
})

/** At most one ⇄ away from each other: enough to meet every pair of branches. */
const UNIVERSE: readonly Fact[] = [
  aPayment('p1'),
  aPayment('p2'),
  aPayment('wrong', { amountMinor: 7_000 }),
  aRefund('p1', 10_000, { providerRef: 'p1-all' }),
  aRefund('p1', 4_000, { providerRef: 'p1-part', eventTimeMs: EXPIRES_MS - 1 }),
  aRefund('p1', 7_000, { providerRef: 'p1-sum', amountKind: 'cumulative', eventTimeMs: EXPIRES_MS }),
  aRefund('p2', 10_000, { providerRef: 'p2-all' }),
  aRefund('wrong', 7_000, { providerRef: 'wrong-all' }),
  aRefund('wrong', 1, { providerRef: 'wrong-dollar', currency: 'USD' }),
  aFact('disputed', { paymentRef: 'p1' }),
  aFact('payment_failed'),
  aFact('provider_closed', { eventTimeMs: EXPIRES_MS - 5 }),
]

test('every set of four facts, in every order, the create at every place', () => {
  let compared = 0
  for (const facts of subsets(UNIVERSE, 4)) {
    const finals: string[] = permutations([CREATE, ...facts.map((one) => fact(one))])
      .map(arrive)
      .filter(({ isArrivalDependent }) => !isArrivalDependent)
      .map(({ final }) => JSON.stringify(final))
    compared += finals.length
    const different = new Set<string>(finals)
    if (different.size > 1) expect.fail(`${facts.map(identity).join(', ')} ends as\n${[...different].join('\n')}`)
  }
  expect(compared).toBeGreaterThan(10_000)
})

test('a ⇄ is where it ends otherwise: for each, two orders of the same facts that differ', () => {
  const [p1, p2] = [aPayment('p1'), aPayment('p2')]
  const full = aRefund('p1')
  const closed = aFact('provider_closed')
  const pairs: readonly (readonly [readonly Fact[], readonly Fact[]])[] = [
    [
      [p1, p2],
      [p2, p1],
    ],
    [
      [p1, closed],
      [closed, p1],
    ],
    [
      [full, p1, p2],
      [full, p2, p1],
    ],
    [
      [p1, full, closed],
      [p1, closed, full],
    ],
  ]
  for (const [one, other] of pairs) {
    const [a, b] = [one, other].map((facts) => arrive([CREATE, ...facts.map((each) => fact(each))]))
    expect(b?.final).not.toEqual(a?.final)
    expect(a?.isArrivalDependent === true || b?.isArrivalDependent === true).toBe(true)
  }
})

test('where batches are cut changes nothing: not an order, not an event, not a timer, also through ⇄', () => {
  const orderIds = [1, 2, 3]
  const stream = fc.array(step(orderIds), { maxLength: 40 })
  const cuts = fc.array(fc.nat({ max: 40 }), { maxLength: 12 })
  const inGroup = (orderId: number) => (orderId < 3 ? 'group' : null)
  fc.assert(
    fc.property(stream, cuts, (steps, at) => {
      const whole = new Shop(orderIds, inGroup).play(steps)
      const cut = new Shop(orderIds, inGroup).play(steps, new Set(at))
      expect(cut.everything()).toEqual(whole.everything())
      expect(cut.outcomes).toEqual(whole.outcomes)
      expect(cut.events.map(({ eventId }) => eventId)).toEqual(whole.events.map(({ eventId }) => eventId))
    }),
    { numRuns: 1_500, seed },
  )
})

test('a fact that comes again, later and from elsewhere, changes nothing', () => {
  const stream = fc.array(step([1]), { minLength: 1, maxLength: 25 })
  const again = fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 15 })
  fc.assert(
    fc.property(stream, again, (steps, copies) => {
      const more: Step[] = [...steps]
      for (const [which, where] of copies) {
        const original = more[which % more.length]
        if (original?.kind !== 'fact') continue
        const copy = { ...original.fact, eventTimeMs: original.fact.eventTimeMs + 1, detail: 'again' }
        const from = more.indexOf(original) + 1
        more.splice(from + (where % (more.length - from + 1)), 0, { ...original, fact: copy, receivedAtMs: 1 })
      }
      expect(new Shop([1]).play(more).everything()).toEqual(new Shop([1]).play(steps).everything())
    }),
    { numRuns: 1_500, seed },
  )
})

const identity = ({ eventType, providerRef }: Fact) => `${eventType}/${providerRef}`
