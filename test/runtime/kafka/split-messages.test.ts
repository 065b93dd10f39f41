import { expect, test } from 'vitest'
import { messageBytes, splitMessages } from '../../../src/runtime/kafka/split-messages.ts'

const message = (size: number, key: string | null = 'k') => ({ key, value: Buffer.alloc(size) })

test('a call stays below the limit, nothing is lost and the order is kept', () => {
  const messages = Array.from({ length: 5_000 }, (_, i) => message(200 + (i % 700), String(i)))
  const runs = splitMessages(messages)
  expect(runs.flat()).toEqual(messages)
  expect(runs.length).toBeGreaterThan(3)
  for (const run of runs) expect(run.reduce((sum, each) => sum + messageBytes(each), 0)).toBeLessThanOrEqual(700_000)
})

test('a message above the limit goes alone', () => {
  expect(splitMessages([message(10), message(900_000), message(10)]).map((run) => run.length)).toEqual([1, 1, 1])
})

test('no messages, no calls', () => {
  expect(splitMessages([])).toEqual([])
})

test('keys and headers count in bytes, not in characters', () => {
  const plain = messageBytes({ key: null, value: Buffer.alloc(10) })
  expect(messageBytes({ key: '订单', value: Buffer.alloc(10) }) - plain).toBe(6)
  expect(messageBytes({ key: null, value: Buffer.alloc(10), headers: { 头: '值' } }) - plain).toBeGreaterThanOrEqual(6)
})
