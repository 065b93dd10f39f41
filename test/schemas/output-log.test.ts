import { expect, test } from 'vitest'
import type { PartitionReader } from '../../src/runtime/kafka/port.ts'
import type { SentEvent } from '../../src/schemas/event-reader.ts'
import {
  eventOf,
  HiddenRecords,
  lastEvent,
  readOutput,
  wholeRange,
  type OutputReaders,
} from '../../src/schemas/output-log.ts'

const ID = '11111111-1111-5111-8111-111111111111'
const event = (laneSeq: number, eventId = ID): SentEvent => ({
  ...{ eventId, kind: 'ship', merchant: 'shop', outTradeNo: 'a', lane: 0, laneSeq, sequence: 1, cause: 'x' },
  ...{ amountMinor: 1, currency: 'CNY', paymentRef: 'x' },
})
const record = (offset: number) => ({
  offset,
  timestampMs: 0,
  key: null,
  value: Buffer.from(String(offset)),
  headers: {},
})
const RANGE = { topic: 'fulfillment.shipment.v1', lane: 0, start: 0, end: 4 }

/** A log of events with these numbers; `read` as a broker answers it. */
const readers = (numbers: readonly number[], read: PartitionReader['read']): OutputReaders => ({
  partitions: { read, close: () => Promise.resolve() },
  events: { read: (_topic, value) => ({ kind: 'event', event: event(numbers[Number(value)] ?? -1) }) },
  topicPrefix: '',
})
const whole: PartitionReader['read'] = (_topic, _partition, from) =>
  Promise.resolve({ records: from < 4 ? [0, 1, 2, 3].slice(from).map(record) : [], next: 4, highWatermark: 4 })
const all = async (of: OutputReaders, patienceMs?: number) => {
  const offsets: number[] = []
  for await (const page of readOutput(of, RANGE, patienceMs)) offsets.push(...page.map(({ offset }) => offset))
  return offsets
}

test('a leader that was just elected gives nothing at first: no record is passed over', async () => {
  let reads = 0
  const hesitant = readers([0, 1, 2, 3], (topic, partition, from) =>
    reads++ % 2 === 0
      ? Promise.resolve({ records: [], next: from, highWatermark: from })
      : whole(topic, partition, from),
  )
  expect(await all(hesitant)).toEqual([0, 1, 2, 3])
})

test('a log that goes on giving nothing before its end is an error, and not its end', async () => {
  const dumb = readers([], (_topic, _partition, from) => Promise.resolve({ records: [], next: from, highWatermark: 4 }))
  await expect(all(dumb, 0)).rejects.toThrow(HiddenRecords)
})

test('an open transaction hides the end of a log: waited for, and named if it does not end', async () => {
  const open = readers([], (_topic, _partition, from) => Promise.resolve({ records: [], next: from, highWatermark: 9 }))
  await expect(wholeRange(open, () => Promise.resolve(RANGE), 0)).rejects.toThrow('from offset 4 on')
  const ends = [4, 4, 9]
  const range = await wholeRange(open, () => Promise.resolve({ ...RANGE, end: ends.shift() ?? 9 }))
  expect([range.end, ends]).toEqual([9, []])
})

test('the last number is the highest, whatever copy stands behind it', async () => {
  expect((await lastEvent(readers([5, 6, 7, 5], whole), RANGE))?.laneSeq).toBe(7)
})

test('an id that is no UUID is nobody’s event', () => {
  const read = { kind: 'event', event: event(1, 'nul\0') } as const
  expect(() => eventOf({ offset: 1, timestampMs: 0, read }, RANGE)).toThrow('its id is no UUID')
})
