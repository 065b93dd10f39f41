import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { guardRequestQueueTimer } from '../../../../src/runtime/kafka/guards/request-queue-timer.ts'
import type { Guard } from '../../../../src/runtime/kafka/guards/internals.ts'
import { apartKafkajs, quietLogger } from '../../../helpers/stock-kafkajs.ts'

interface RequestQueue {
  checkPendingRequests: () => void
  fulfillRequest: (response: { correlationId: number; payload: null; size: number }) => void
  maybeThrottle: (ms: number) => void
  push: (request: object) => void
}
type RequestQueueClass = new (options: object) => RequestQueue

const load = (...guards: Guard[]) =>
  apartKafkajs(...guards).load('src/network/requestQueue/index.js') as RequestQueueClass
const Stock = load()
const Guarded = load(guardRequestQueueTimer)

const create = (Queue: RequestQueueClass) =>
  new Queue({ maxInFlightRequests: null, requestTimeout: 30_000, enforceRequestTimeout: true, logger: quietLogger })

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function checksPerSecond(Queue: RequestQueueClass): number {
  const queue = create(Queue)
  queue.fulfillRequest({ correlationId: 1, payload: null, size: 0 })
  const check = vi.spyOn(queue, 'checkPendingRequests')
  vi.advanceTimersByTime(1_000)
  return check.mock.calls.length
}

test('an idle connection has no timer; the stock one wakes a thousand times a second', () => {
  expect(checksPerSecond(Stock)).toBeGreaterThan(900)
  expect(checksPerSecond(Guarded)).toBe(0)
})

test('a throttled request is sent when the throttle ends', () => {
  const queue = create(Guarded)
  queue.maybeThrottle(500)
  const sendRequest = vi.fn()
  queue.push({ entry: { correlationId: 1 }, expectResponse: true, sendRequest })
  vi.advanceTimersByTime(499)
  expect(sendRequest).not.toHaveBeenCalled()
  vi.advanceTimersByTime(2)
  expect(sendRequest).toHaveBeenCalledOnce()
})
