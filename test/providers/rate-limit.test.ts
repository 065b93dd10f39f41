import { expect, test } from 'vitest'
import { createRateLimit } from '../../src/providers/rate-limit.ts'

const clockAt = () => {
  let nowMs = 5_000
  return { elapsedMs: () => nowMs, pass: (ms: number) => (nowMs += ms) }
}

test('as many turns as come in a second at once, then one at a time', () => {
  const clock = clockAt()
  const limit = createRateLimit(4, clock)
  expect([1, 2, 3, 4].map(() => limit.take())).toEqual([0, 0, 0, 0])
  expect(limit.take()).toBe(250)
  clock.pass(100)
  expect(limit.take()).toBe(150)
  clock.pass(150)
  expect([limit.take(), limit.take()]).toEqual([0, 250])
  // What nobody used is not saved beyond a second's.
  clock.pass(3_600_000)
  expect([1, 2, 3, 4, 5].map(() => limit.take())).toEqual([0, 0, 0, 0, 250])
})

test('a rate below one a second has one turn, and the wait that is said is long enough', () => {
  const clock = clockAt()
  const limit = createRateLimit(0.3, clock)
  expect(limit.take()).toBe(0)
  for (let round = 0; round < 1_000; round++) {
    const waitMs = limit.take()
    clock.pass(waitMs - 1)
    expect(limit.take()).toBeGreaterThan(0)
    clock.pass(1)
    expect(limit.take()).toBe(0)
  }
})

test('a provider that says it is too much is left alone, twice as long each time until it answers', () => {
  const clock = clockAt()
  const limit = createRateLimit(100, clock)
  expect(limit.slowDown()).toBe(1_000)
  expect(limit.take()).toBe(1_000)
  clock.pass(999)
  expect(limit.take()).toBe(1)
  clock.pass(1)
  expect(limit.take()).toBe(0)
  const waits = Array.from({ length: 7 }, () => limit.slowDown())
  expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  limit.recover()
  expect(limit.slowDown()).toBe(1_000)
  // The longest that was said counts, up to an hour.
  expect(limit.take()).toBe(60_000)
  expect(limit.slowDown(90_000_000)).toBe(3_600_000)
})
