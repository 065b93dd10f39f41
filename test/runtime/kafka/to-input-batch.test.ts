import type { Batch, IHeaders } from 'kafkajs'
import { expect, test } from 'vitest'
import { toInputBatches } from '../../../src/runtime/kafka/to-input-batch.ts'

function fetch(fetchedOffset: number, offsets: readonly number[], lastOffset: number, headers: IHeaders = {}): Batch {
  return {
    partition: 4,
    fetchedOffset: String(fetchedOffset),
    highWatermark: '99',
    lastOffset: () => String(lastOffset),
    messages: offsets.map((offset) => ({
      offset: String(offset),
      timestamp: '1796011760374',
      key: Buffer.from(`k${offset}`),
      value: Buffer.from('v'),
      headers,
    })),
  } as unknown as Batch
}
const shape = (batches: Iterable<ReturnType<typeof toInputBatches> extends Generator<infer B> ? B : never>) =>
  [...batches].map(({ fetchedOffset, endOffset, records }) => [fetchedOffset, endOffset, records.map((r) => r.offset)])

test('a fetch is one batch, from the position asked for to behind its control records', () => {
  expect(shape(toInputBatches(fetch(5, [7, 8], 10), 1_000))).toEqual([[5, 11, [7, 8]]])
})

test('a large fetch is several batches without a gap between them', () => {
  expect(shape(toInputBatches(fetch(5, [7, 8, 12, 13, 14], 20), 2))).toEqual([
    [5, 12, [7, 8]],
    [12, 14, [12, 13]],
    [14, 21, [14]],
  ])
})

test('as many records as a batch may have are one batch', () => {
  expect(shape(toInputBatches(fetch(5, [5, 6], 6), 2))).toEqual([[5, 7, [5, 6]]])
})

test('a fetch of control records alone is a batch without records', () => {
  expect(shape(toInputBatches(fetch(5, [], 6), 1_000))).toEqual([[5, 7, []]])
})

test('of a header that comes several times the last counts', () => {
  const [batch] = toInputBatches(fetch(0, [0], 0, { a: Buffer.from('x'), b: ['1', Buffer.from('2')], c: [] }), 10)
  expect(batch?.records[0]).toMatchObject({ timestampMs: 1796011760374, key: Buffer.from('k0') })
  expect(batch?.records[0]?.headers).toEqual({ a: Buffer.from('x'), b: Buffer.from('2') })
})
