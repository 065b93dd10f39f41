import { beforeEach, expect, test } from 'vitest'
import { createExpiryGate, type ExpiryGate } from '../../src/processor/expiry-gate.ts'
import { createLog } from '../../src/runtime/log.ts'

let ends: (number | Error)[]
let gate: ExpiryGate
beforeEach(() => {
  const readEnd = () => {
    const end = ends.shift()
    return typeof end === 'number' ? Promise.resolve(end) : Promise.reject(end ?? new Error('asked once too often'))
  }
  gate = createExpiryGate({ readEnd, log: createLog('test', 'silent') })
})

/** A wake that finds expiries due at these times. @returns the ones that may run; null: none was looked for */
async function wake(passedMs: number, next: number, ...dueMs: number[]): Promise<number[] | null> {
  const askedMs = gate.askedMs(passedMs, next)
  const found = dueMs.filter((ms) => askedMs !== null && ms <= askedMs)
  const opens = await gate.opens({ isAny: found.length > 0, askedMs }, next)
  if (askedMs === null) return null
  return opens ? found : []
}

test('an idle lane expires at once, with one question for all that was due', async () => {
  ends = [7]
  expect(await wake(100, 7, 10, 20)).toEqual([10, 20])
  expect(await wake(101, 7, 20)).toEqual([20]) // More than one wake carries.
  expect(await wake(102, 7)).toEqual([])
})

test('a busy lane, whose end grows at every wake, expires what was due once it has come so far', async () => {
  ends = [50, 90]
  expect(await wake(100, 10, 10)).toEqual([])
  expect(await wake(200, 49, 10, 150)).toBeNull()
  // 150 was not due when the end was read: a payment of it may lie between 50 and what is the end now.
  expect(await wake(300, 60, 10, 150)).toEqual([10])
  expect(await wake(300, 60, 150)).toEqual([])
  expect(await wake(400, 70, 150)).toEqual([])
  expect(await wake(500, 90, 150)).toEqual([150])
  expect(ends).toEqual([])
})

test('no end, no expiry: the broker is asked again at the next wake', async () => {
  ends = [new Error('away'), 5]
  expect(await wake(100, 5, 10)).toEqual([])
  expect(await wake(100, 5, 10)).toEqual([10])
})
