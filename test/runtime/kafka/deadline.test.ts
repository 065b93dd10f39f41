import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { DeadlinePassed, withDeadline } from '../../../src/runtime/kafka/deadline.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('work in time leaves no timer', async () => {
  await expect(withDeadline(Promise.resolve(7), 1_000, 'work')).resolves.toBe(7)
  await expect(withDeadline(Promise.reject(new Error('no')), 1_000, 'work')).rejects.toThrow('no')
  expect(vi.getTimerCount()).toBe(0)
})

test('late work is over, and its own late error is nobody’s', async () => {
  const late = Promise.withResolvers<number>()
  const failed = expect(withDeadline(late.promise, 1_000, 'work')).rejects.toThrow(DeadlinePassed)
  await vi.advanceTimersByTimeAsync(1_000)
  await failed
  late.reject(new Error('later'))
  await vi.runAllTimersAsync()
})
