import fc from 'fast-check'
import { expect, test } from 'vitest'
import { afterHint, afterPayment, firstDue, type Outcome, type Schedule } from '../../../src/reconcile/schedule.ts'

const MIN = 60_000
const SCHEDULE: Schedule = {
  firstMs: MIN,
  spreadMs: 30_000,
  lastMs: 30 * MIN,
  heldTriesMax: 3,
  hintTriesMax: 10,
  lookMs: 60 * MIN,
}
const lifeMs = fc.integer({ min: 1_000, max: 7 * 86_400_000 })
const random = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })

/** When an order that nobody pays is asked about, if each question takes `takesMs`. */
function asksOf(life: number, randoms: () => number, takesMs: number, outcome: Outcome = 'nothing') {
  const order = { createdAtMs: 0, expiresAtMs: life, isPending: true }
  const asks: number[] = []
  let dueAtMs = firstDue(SCHEDULE, order, 0, randoms())
  for (let attempts = 1; attempts < 1_000; attempts++) {
    asks.push(dueAtMs)
    const asked = { attempts, outcome, sinceMs: dueAtMs, nowMs: dueAtMs + takesMs }
    const next = afterPayment(SCHEDULE, order, asked, randoms())
    if (next.kind === 'done') return { asks, gaveUp: next.gaveUp }
    dueAtMs = next.dueAtMs
  }
  throw new Error('asked for ever')
}

test('gaps begin at a minute, double, end at the expiry, and then comes one more', () => {
  expect(asksOf(60 * MIN, () => 0, 0).asks.map((ms) => ms / MIN)).toEqual([1, 2, 4, 8, 16, 32, 60])
  expect(asksOf(30_000, () => 0.5, 0).asks).toEqual([45_000])
})

test('whatever chance says: no gap under a minute, none under the age, and exactly one question after the expiry', () => {
  fc.assert(
    fc.property(lifeMs, fc.infiniteStream(random), fc.integer({ min: 0, max: 10_000 }), (life, stream, takesMs) => {
      const { asks, gaveUp } = asksOf(life, () => stream.next().value as number, takesMs)
      const before = asks.filter((ms) => ms < life)
      expect(asks.length - before.length).toBe(1)
      expect(asks.at(-1)).toBeLessThanOrEqual(life + SCHEDULE.spreadMs)
      before.forEach((ms, n) => {
        const from = before[n - 1] ?? 0
        expect(ms - from).toBeGreaterThanOrEqual(Math.max(MIN, from))
        expect(ms).toBeLessThanOrEqual(Math.max(1.5 * MIN, 2.5 * (from + takesMs) + 1))
      })
      expect(before.length).toBeLessThanOrEqual(Math.log2(Math.max(2, life / MIN)) + 1)
      expect(gaveUp).toBe(false)
    }),
  )
})

test('what nobody answers is tried more often, after the expiry too, and given up', () => {
  fc.assert(
    fc.property(lifeMs, fc.infiniteStream(random), (life, stream) => {
      const next = () => stream.next().value as number
      const { asks, gaveUp } = asksOf(life, next, 0, 'failed')
      expect(gaveUp).toBe(true)
      const after = asks.filter((ms) => ms >= life)
      expect(after.length).toBeGreaterThan(3)
      expect(after.length).toBeLessThan(12)
      expect(asks.at(-1)).toBeLessThanOrEqual(life + SCHEDULE.lastMs)
    }),
  )
})

test('orders of one second are asked about evenly: no tenth of the time has twice its share', () => {
  const order = { createdAtMs: 0, expiresAtMs: 86_400_000, isPending: true }
  const counts = new Array<number>(10).fill(0)
  for (let n = 0; n < 10_000; n++) {
    const due = firstDue(SCHEDULE, order, 0, (n * 0.618_034) % 1)
    counts[Math.floor(((due - MIN) / (MIN / 2)) * 10)] = (counts[Math.floor(((due - MIN) / (MIN / 2)) * 10)] ?? 0) + 1
  }
  expect(Math.min(...counts)).toBeGreaterThan(900)
  expect(Math.max(...counts)).toBeLessThan(1_100)
})

test('an answer that was asked for before the expiry is not the last one, however late it comes', () => {
  const order = { createdAtMs: 0, expiresAtMs: 60 * MIN, isPending: true }
  const asked = { attempts: 6, outcome: 'nothing', sinceMs: 60 * MIN - 1, nowMs: 60 * MIN + 9_000 } as const
  expect(afterPayment(SCHEDULE, order, asked, 0.5)).toEqual({ kind: 'again', dueAtMs: 60 * MIN + 15_000 })
  expect(afterPayment(SCHEDULE, order, { ...asked, sinceMs: 60 * MIN }, 0.5)).toMatchObject({ kind: 'done' })
})

test('a held fact of a provider that is down for an hour is still asked about after it', () => {
  const held = { createdAtMs: 0, expiresAtMs: null, isPending: false }
  let nowMs = 0
  for (let attempts = 1; nowMs < 60 * MIN; attempts++) {
    const next = afterPayment(SCHEDULE, held, { attempts, outcome: 'failed', sinceMs: nowMs, nowMs }, 0)
    expect(next.kind).toBe('again')
    nowMs = next.dueAtMs
  }
})

test('what waited for a start is spread, and not asked at once', () => {
  const order = { createdAtMs: 0, expiresAtMs: 86_400_000 }
  expect(firstDue(SCHEDULE, order, 3_600_000, 0.5)).toBe(3_615_000)
})

test('nobody is asked before a provider allows it', () => {
  const order = { createdAtMs: 0, expiresAtMs: 86_400_000, isPending: true }
  const asked = { attempts: 1, outcome: 'failed', sinceMs: MIN, nowMs: MIN, afterMs: 10 * MIN } as const
  expect(afterPayment(SCHEDULE, order, asked, 0)).toEqual({ kind: 'again', dueAtMs: 11 * MIN })
  expect(afterHint(SCHEDULE, asked, 0)).toEqual({ kind: 'again', dueAtMs: 11 * MIN })
})

test('a held fact and a hint are asked about so often, and no more', () => {
  const held = { createdAtMs: 0, expiresAtMs: null, isPending: false }
  const asked = (attempts: number, outcome: Outcome) => ({ attempts, outcome, sinceMs: 0, nowMs: 0 })
  expect(afterPayment(SCHEDULE, held, asked(2, 'nothing'), 0)).toEqual({ kind: 'again', dueAtMs: 2 * MIN })
  expect(afterPayment(SCHEDULE, held, asked(3, 'nothing'), 0)).toMatchObject({ kind: 'done', gaveUp: false })
  expect(afterPayment(SCHEDULE, held, asked(10, 'failed'), 0)).toMatchObject({ kind: 'done', gaveUp: true })
  expect(afterHint(SCHEDULE, asked(1, 'learnt'), 0)).toBeNull()
  expect(afterHint(SCHEDULE, asked(9, 'nothing'), 0)).toEqual({ kind: 'again', dueAtMs: 256 * MIN })
  expect(afterHint(SCHEDULE, asked(10, 'nothing'), 0)).toMatchObject({ kind: 'done', gaveUp: true })
})
