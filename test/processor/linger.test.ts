import { expect, test } from 'vitest'
import { lingerMs } from '../../src/processor/linger.ts'

test.each([
  [0, 0, 20],
  [1, 0, 20],
  [250, 0, 10],
  [1, 250, 10],
  [500, 0, 0],
  [1_000, 0, 0],
  [3, 5_000, 0],
])('%d records handled and %d waiting: %d of 20 ms', (records, backlog, expected) =>
  expect(lingerMs(records, backlog, 20)).toBe(expected),
)
