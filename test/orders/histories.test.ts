import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FACT_KINDS, STATUSES } from '../../src/orders/model.ts'
import { ON_FACT } from '../../src/orders/on-fact.ts'
import { printedRandom } from '../helpers/seed.ts'
import { aFact, aPayment, aRefund, EXPIRES_MS, fact } from './build.ts'
import { arrive, cameTo, create, history, isReport, nameOf, shopOf, type Arrival, type History } from './history.ts'
import { brokenLaws } from './laws.ts'
import type { Step } from './shop.ts'
import { permutations, subsets } from './subsets.ts'
import type { CellName } from './trace.ts'

const { seed } = printedRandom('histories')
const show = ({ steps }: Arrival) => steps.map(nameOf).join(', ')

test('in any order, with copies, in any batches: the same orders, refunds, anomalies and net effect, but for ⇄', () => {
  let [compared, exempt] = [0, 0]
  const cases = history.chain((of) => {
    const anyOrder = fc.shuffledSubarray([...of.parts], { minLength: of.parts.length })
    const copies = fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 8 })
    return fc.tuple(fc.constant(of), anyOrder, anyOrder, copies, fc.array(fc.nat({ max: 20 }), { maxLength: 8 }))
  })
  fc.assert(
    fc.property(cases, ([of, one, other, copies, cuts]) => {
      const [a, b] = [arrive(of, one), arrive(of, other)]
      for (const { steps, shop } of [a, b]) {
        expect(brokenLaws(of, shop), steps.map(nameOf).join(', ')).toEqual([])
        // Copies and batches change nothing at all, not even through a ⇄.
        const again = shopOf(of).play(withCopies(steps, copies), new Set(cuts))
        expect(again.everything()).toEqual(shop.everything())
        expect(again.events).toEqual(shop.events)
      }
      if (a.touched.size + b.touched.size > 0) exempt += 1
      else {
        compared += 1
        expect(cameTo(of, b.shop), `${show(a)}\n${show(b)}`).toEqual(cameTo(of, a.shop))
      }
    }),
    { numRuns: 3_000, seed },
  )
  console.log(`histories: ${compared} pairs compared, ${exempt} exempt by a ⇄`)
  expect(compared).toBeGreaterThan(1_200)
})

test('what came before its order goes in event-time order however it came: all is the same, also through a ⇄', () => {
  let through = 0
  const cases = history.chain((of) => {
    const early = of.parts.filter((step) => step.kind === 'fact' && !isReport(step))
    const anyOrder = fc.shuffledSubarray(early, { minLength: early.length })
    const late = of.parts.filter((step) => !early.includes(step))
    return fc.tuple(fc.constant(of), anyOrder, anyOrder, fc.constant(late))
  })
  fc.assert(
    fc.property(cases, ([of, one, other, late]) => {
      const [a, b] = [arrive(of, [...one, ...late]), arrive(of, [...other, ...late])]
      expect(b.shop.everything()).toEqual(a.shop.everything())
      expect(b.touched).toEqual(a.touched)
      if (a.touched.size > 0) through += 1
    }),
    { numRuns: 1_000, seed },
  )
  expect(through).toBeGreaterThan(100)
})

const CLOSE: Step = { kind: 'close', orderId: 1, commandId: 1 }
const EXPIRE: Step = { kind: 'expire', orderId: 1, timerId: 1 }
const UNIVERSE: readonly Step[] = [
  ...[
    aPayment('p1'),
    aPayment('p2', { eventTimeMs: EXPIRES_MS - 1 }),
    aPayment('wrong', { amountMinor: 7_000 }),
    aRefund('p1', 10_000, { providerRef: 'p1-all' }),
    aRefund('p1', 4_000, { providerRef: 'p1-part', eventTimeMs: EXPIRES_MS }),
    aRefund('p1', 7_000, { providerRef: 'p1-sum', amountKind: 'cumulative', eventTimeMs: EXPIRES_MS }),
    aRefund('p2', 10_000, { providerRef: 'p2-all' }),
    aRefund('wrong', 7_000, { providerRef: 'wrong-all' }),
    aFact('provider_closed', { eventTimeMs: EXPIRES_MS - 5 }),
    aFact('shipment_completed'),
    aFact('fulfillment_failed'),
    aFact('goods_returned'),
  ].map((of) => fact(of)),
  CLOSE,
  EXPIRE,
]
const of = (orderId: number, step: Step): Step => ({ ...step, orderId })
const PAIR: readonly Step[] = [1, 2].flatMap((orderId) =>
  [
    fact(aPayment('p1')),
    fact(aRefund('p1', 10_000, { providerRef: 'p1-all' })),
    fact(aRefund('p1', 4_000, { providerRef: 'p1-part' })),
    fact(aFact('shipment_completed')),
    EXPIRE,
  ].map((step) => of(orderId, step)),
)

/** Every order in which the parts can come after `first`. */
function everyArrival(history: History, first: readonly Step[]): Arrival[] {
  const rest = history.parts.filter((step) => !first.includes(step))
  return permutations(rest).map((order) => arrive(history, [...first, ...order]))
}
function* exhaustive(): Generator<readonly [History, readonly Arrival[]]> {
  const one = { orderIds: [1] }
  const two = { orderIds: [1, 2] }
  const first = create(1)
  // The create at every place…
  for (const parts of subsets(UNIVERSE, 3)) {
    const each = { ...one, parts: [first, ...parts] }
    yield [each, everyArrival(each, [])]
  }
  // …and before more of them.
  for (const parts of subsets(UNIVERSE, 4)) {
    const each = { ...one, parts: [first, ...parts] }
    yield [each, everyArrival(each, [first])]
  }
  const both = two.orderIds.map(create)
  for (const parts of subsets(PAIR, 4)) {
    const each = { ...two, parts: [...both, ...parts] }
    yield [each, everyArrival(each, both)]
  }
}

/**
 * Both sides of a mark at once: sets of facts are told apart by which ⇄ their orders of arrival met. Those that met none
 * must come to one end. And for each ⇄ there is a set of facts that ends in two ways though no other ⇄ was met.
 */
test('exhaustively: what meets no ⇄ ends in one way; and no ⇄ is there without two ways that it alone makes', () => {
  let [compared, exempt] = [0, 0]
  const witnesses = new Map<CellName, string>()
  for (const [each, arrivals] of exhaustive()) {
    const ends = new Map<string, Map<string, Arrival>>()
    for (const arrival of arrivals) {
      const broken = brokenLaws(each, arrival.shop)
      if (broken.length > 0) expect.fail(`${show(arrival)}:\n${broken.join('\n')}`)
      if (arrival.touched.size > 1) {
        exempt += 1
        continue
      }
      const [cell = ''] = arrival.touched
      if (cell === '') compared += 1
      else exempt += 1
      const end = JSON.stringify(cameTo(each, arrival.shop))
      ends.set(cell, (ends.get(cell) ?? new Map<string, Arrival>()).set(end, arrival))
    }
    const free = ends.get('') ?? new Map<string, Arrival>()
    if (free.size > 1)
      expect.fail(`These end otherwise:\n${[...free].map(([end, a]) => `${show(a)}: ${end}`).join('\n')}`)
    for (const [cell, through] of ends) {
      const ways = new Map([...free, ...through])
      if (cell !== '' && ways.size > 1 && !witnesses.has(cell as CellName))
        witnesses.set(cell as CellName, [...ways.values()].slice(0, 2).map(show).join(' / '))
    }
  }
  console.log(`exhaustive: ${compared} arrivals compared, ${exempt} through a ⇄`)
  expect(compared).toBeGreaterThan(10_000)
  const marked = STATUSES.flatMap((status) =>
    FACT_KINDS.filter((kind) => ON_FACT[status][kind].arrivalDependent).map((kind) => `${status} × ${kind}`),
  )
  // The last is the footnote: another order of the group is paid.
  expect([...witnesses.keys()].sort()).toEqual([...marked, 'pending × payment_succeeded'].sort())
}, 120_000)

/** Copies of facts after the originals, with another time and wording, as a query or a bill has them. */
function withCopies(steps: readonly Step[], copies: readonly (readonly [number, number])[]): Step[] {
  const more = [...steps]
  for (const [which, where] of copies) {
    const original = more[which % more.length]
    if (original?.kind !== 'fact') continue
    const from = more.indexOf(original) + 1
    const copy = { ...original.fact, eventTimeMs: original.fact.eventTimeMs + 1, detail: 'again' }
    more.splice(from + (where % (more.length - from + 1)), 0, { ...original, fact: copy, receivedAtMs: 1 })
  }
  return more
}
