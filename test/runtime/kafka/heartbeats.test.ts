import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createHeartbeats } from '../../../src/runtime/kafka/heartbeats.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const typed = (type: string) => Object.assign(new Error(type), { type })
const done = () => Promise.resolve()

test('beats while any batch is in work, and not after', async () => {
  const heartbeats = createHeartbeats(2_000)
  const beat = vi.fn(done)
  const first = Promise.withResolvers<undefined>()
  const second = Promise.withResolvers<undefined>()
  const batches = [heartbeats.during(beat, () => first.promise), heartbeats.during(beat, () => second.promise)]
  await vi.advanceTimersByTimeAsync(10_000)
  expect(beat).toHaveBeenCalledTimes(5)
  first.resolve(undefined)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(beat).toHaveBeenCalledTimes(6)
  second.resolve(undefined)
  await Promise.all(batches)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(beat).toHaveBeenCalledTimes(6)
  expect(vi.getTimerCount()).toBe(0)
})

test.each(['REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'NOT_COORDINATOR_FOR_GROUP'])(
  '%s waits until the work is safe, then is thrown',
  async (type) => {
    const heartbeats = createHeartbeats(2_000)
    const work = Promise.withResolvers<undefined>()
    let settled = false
    const batch = heartbeats.during(
      () => Promise.reject(typed(type)),
      () => work.promise,
    )
    const result = expect(batch.finally(() => (settled = true))).rejects.toMatchObject({ type })
    await vi.advanceTimersByTimeAsync(9_000)
    expect(settled).toBe(false)
    work.resolve(undefined)
    await result
  },
)

test("other errors are left to kafkajs' own heartbeat", async () => {
  const heartbeats = createHeartbeats(2_000)
  const work = Promise.withResolvers<undefined>()
  const batch = heartbeats.during(
    () => Promise.reject(new Error('connection lost')),
    () => work.promise,
  )
  await vi.advanceTimersByTimeAsync(4_000)
  work.resolve(undefined)
  await batch
})

test('after joining again the old rebalance is over', async () => {
  const heartbeats = createHeartbeats(2_000)
  const work = Promise.withResolvers<undefined>()
  const batch = heartbeats.during(
    () => Promise.reject(typed('REBALANCE_IN_PROGRESS')),
    () => work.promise,
  )
  await vi.advanceTimersByTimeAsync(2_500)
  heartbeats.joined()
  work.resolve(undefined)
  await batch
  await heartbeats.during(done, done)
})

test("the work's own error is thrown", async () => {
  const heartbeats = createHeartbeats(2_000)
  await expect(heartbeats.during(done, () => Promise.reject(new Error('mine')))).rejects.toThrow('mine')
  expect(vi.getTimerCount()).toBe(0)
})
