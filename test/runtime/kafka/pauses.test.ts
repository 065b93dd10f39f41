import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPauses } from '../../../src/runtime/kafka/pauses.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function setUp() {
  const calls: string[] = []
  const pauses = createPauses((partition, paused) => calls.push(`${paused ? 'pause' : 'resume'} ${partition}`))
  return { pauses, calls }
}

test('a pause for a while ends by itself', async () => {
  const { pauses, calls } = setUp()
  pauses.pauseFor(3, 500)
  expect(pauses.isPaused(3)).toBe(true)
  await vi.advanceTimersByTimeAsync(499)
  expect(calls).toEqual(['pause 3'])
  await vi.advanceTimersByTimeAsync(1)
  expect(calls).toEqual(['pause 3', 'resume 3'])
  expect(pauses.isPaused(3)).toBe(false)
})

test('the latest while counts', async () => {
  const { pauses } = setUp()
  pauses.pauseFor(3, 500)
  pauses.pauseFor(3, 2_000)
  await vi.advanceTimersByTimeAsync(1_500)
  expect(pauses.isPaused(3)).toBe(true)
})

test('a pause without end is not shortened by one for a while, nor ended by its timer', async () => {
  const { pauses } = setUp()
  pauses.pauseFor(3, 500)
  pauses.pause(3)
  pauses.pauseFor(3, 100)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(pauses.isPaused(3)).toBe(true)
  pauses.resume(3)
  expect(pauses.isPaused(3)).toBe(false)
})

test('what is paused is paused again at a join; what never was is not resumed', () => {
  const { pauses, calls } = setUp()
  pauses.pause(1)
  pauses.resume(2)
  pauses.reapply()
  expect(calls).toEqual(['pause 1', 'pause 1'])
})

test('stopping leaves no timer', () => {
  const { pauses } = setUp()
  pauses.pauseFor(3, 500)
  pauses.stop()
  expect(vi.getTimerCount()).toBe(0)
})
