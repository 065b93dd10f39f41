import { expect, test, vi } from 'vitest'
import type { Lane } from '../../src/processor/lane.ts'
import { createLanes } from '../../src/processor/lanes.ts'
import { repeat } from '../../src/runtime/repeat.ts'
import { createLog } from '../../src/runtime/log.ts'

test('once a stop has begun no lane fences: those known are retired, and a join brings no others', () => {
  const did: string[] = []
  const lanes = createLanes(
    (number) =>
      ({
        assigned: () => did.push(`assigned ${number}`),
        retire: () => did.push(`retire ${number}`),
      }) as unknown as Lane,
    () => undefined,
  )
  lanes.handlers.onAssigned([0, 1])
  lanes.retire()
  lanes.handlers.onAssigned([0, 1, 2])
  expect(did).toEqual(['assigned 0', 'assigned 1', 'retire 0', 'retire 1'])
})

test('a lane whose wake takes for ever does not keep the others from theirs', async () => {
  vi.useFakeTimers()
  const wakes = [0, 0]
  const lanes = createLanes(
    (number) =>
      ({
        assigned: () => undefined,
        wake: () => {
          wakes[number] = (wakes[number] ?? 0) + 1
          return number === 0 ? new Promise(() => undefined) : Promise.resolve()
        },
      }) as unknown as Lane,
    () => undefined,
  )
  lanes.handlers.onAssigned([0, 1])
  const stop = repeat('waking the lanes', 1_000, createLog('test', 'silent'), lanes.wakeAll)
  await vi.advanceTimersByTimeAsync(3_000)
  stop()
  vi.useRealTimers()
  expect(wakes[1]).toBe(3)
})
