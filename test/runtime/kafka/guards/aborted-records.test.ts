import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  filterAborted,
  type AbortedTransaction,
  type FetchedMessage,
} from '../../../../src/runtime/kafka/guards/aborted-records.ts'
import { apartKafkajs } from '../../../helpers/stock-kafkajs.ts'
import { printedRandom } from '../../../helpers/seed.ts'

type Filter = (fetch: {
  messages: readonly FetchedMessage[]
  abortedTransactions: readonly AbortedTransaction[]
}) => readonly FetchedMessage[]

const stock = apartKafkajs().load('src/consumer/filterAbortedMessages.js') as Filter

const record = (offset: number, producer: number, key: Buffer | null = Buffer.from('k')): FetchedMessage => ({
  offset: String(offset),
  key,
  batchContext: { producerId: String(producer), inTransaction: true },
})
const marker = (offset: number, producer: number, type: 'abort' | 'commit'): FetchedMessage => ({
  ...record(offset, producer, Buffer.from([0, 0, 0, type === 'abort' ? 0 : 1])),
  isControlRecord: true,
})
const aborted = (producer: number, firstOffset: number): AbortedTransaction => ({
  producerId: String(producer),
  firstOffset: String(firstOffset),
})
const delivered = (filter: Filter, messages: FetchedMessage[], abortedTransactions: AbortedTransaction[]) =>
  filter({ messages, abortedTransactions })
    .filter((message) => message.isControlRecord !== true)
    .map((message) => Number(message.offset))

test('two interleaved aborted transactions: the broker lists them by abort marker', () => {
  const messages = [record(5, 2), record(6, 2), record(10, 1), record(11, 2), marker(30, 1, 'abort')]
  messages.push(record(31, 2), marker(40, 2, 'abort'))
  const list = [aborted(1, 10), aborted(2, 5)]
  expect(delivered(stock, messages, list)).toEqual([5, 6])
  expect(delivered(filterAborted, messages, list)).toEqual([])
})

test('a fetch that starts inside two aborted transactions', () => {
  const messages = [record(100, 2), record(101, 1), record(102, 2), marker(110, 1, 'abort'), marker(111, 2, 'abort')]
  const list = [aborted(1, 50), aborted(2, 60)]
  expect(delivered(stock, messages, list)).toEqual([100])
  expect(delivered(filterAborted, messages, list)).toEqual([])
})

test('a record whose key looks like an abort marker', () => {
  const messages = [record(5, 2), record(6, 2, Buffer.alloc(4)), record(7, 2), marker(8, 2, 'abort')]
  const list = [aborted(2, 5)]
  expect(delivered(stock, messages, list)).toEqual([6, 7])
  expect(delivered(filterAborted, messages, list)).toEqual([])
})

test('what a producer commits after an abort, and what others write meanwhile, is delivered by both', () => {
  const outside: FetchedMessage = { ...record(7, -1), batchContext: { producerId: '-1', inTransaction: false } }
  const messages = [record(5, 2), record(6, 3), outside, marker(8, 2, 'abort'), record(9, 2), marker(10, 2, 'commit')]
  const list = [aborted(2, 5)]
  expect(delivered(stock, messages, list)).toEqual([6, 7, 9])
  expect(delivered(filterAborted, messages, list)).toEqual([6, 7, 9])
})

test('of any log, read from any offset, exactly the committed records are delivered', () => {
  const step = fc.record({ producer: fc.integer({ min: 1, max: 4 }), act: fc.integer({ min: 0, max: 9 }) })
  const property = fc.property(fc.array(step, { maxLength: 80 }), fc.nat(79), (steps, from) => {
    const { log, list, committed } = play(steps)
    const fetched = log.filter((message) => Number(message.offset) >= from)
    const relevant = list.filter(({ last }) => last >= from)
    const expected = committed.filter((offset) => offset >= from).sort((a, b) => a - b)
    expect(delivered(filterAborted, fetched, relevant)).toEqual(expected)
  })
  fc.assert(property, { numRuns: 2_000, seed: printedRandom('aborted records').seed })
})

/** A log as several producers write it, and the broker's list of aborted transactions, by abort marker. */
function play(steps: readonly { producer: number; act: number }[]) {
  const log: FetchedMessage[] = []
  const open = new Map<number, number[]>()
  const list: (AbortedTransaction & { last: number })[] = []
  const committed: number[] = []
  const end = (producer: number, type: 'abort' | 'commit') => {
    const offsets = open.get(producer)
    if (offsets?.[0] === undefined) return
    open.delete(producer)
    if (type === 'commit') committed.push(...offsets)
    else list.push({ ...aborted(producer, offsets[0]), last: log.length })
    log.push(marker(log.length, producer, type))
  }
  for (const { producer, act } of steps)
    if (act < 6) {
      open.set(producer, [...(open.get(producer) ?? []), log.length])
      log.push(record(log.length, producer))
    } else end(producer, act < 8 ? 'abort' : 'commit')
  for (const producer of [...open.keys()]) end(producer, 'commit')
  return { log, list, committed }
}
