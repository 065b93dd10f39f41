import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { crc32c } from '../../../../src/runtime/kafka/encoding/crc32c.ts'
import {
  guardProduceEncoding,
  type CreateProduceRequest,
} from '../../../../src/runtime/kafka/guards/produce-encoding.ts'
import { printedRandom } from '../../../helpers/seed.ts'
import { apartKafkajs } from '../../../helpers/stock-kafkajs.ts'

const PRODUCE = 'src/protocol/requests/produce/v3/request.js'
const stock = apartKafkajs()
const stockRequest = stock.load(PRODUCE) as CreateProduceRequest
const guardedRequest = apartKafkajs(guardProduceEncoding).load(PRODUCE) as CreateProduceRequest
const stockCrc = stock.load('src/protocol/recordBatch/crc32C/index.js') as (bytes: Buffer) => number
const { seed } = printedRandom('produce encoding')

// Both put the time into the batch.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
const text = fc.oneof(bytes, fc.string({ unit: 'grapheme', maxLength: 200 }), fc.string({ maxLength: 200 }))
const message = fc.record(
  {
    key: fc.option(text),
    value: fc.option(text),
    headers: fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.oneof(text, fc.array(text))),
  },
  { requiredKeys: [] },
)
const partition = fc.record({
  partition: fc.nat(50),
  firstSequence: fc.nat(2 ** 31 - 1),
  messages: fc.array(message, { minLength: 1, maxLength: 130, size: 'large' }),
})
const topic = fc.record({ topic: fc.string({ unit: 'grapheme' }), partitions: fc.array(partition, { maxLength: 2 }) })
const request = fc.record({
  acks: fc.constantFrom(-1, 0, 1),
  timeout: fc.nat(60_000),
  transactionalId: fc.constantFrom(undefined, 'paidonce-lane-3'),
  producerId: fc.bigInt({ min: -1n, max: 2n ** 62n }).map(String),
  producerEpoch: fc.nat(2 ** 15 - 1),
  topicData: fc.array(topic, { maxLength: 2 }),
})
type Request = Parameters<CreateProduceRequest>[0]

async function bothEncode(given: Request) {
  const [ours, theirs] = await Promise.all([guardedRequest(given).encode(), stockRequest(given).encode()])
  return { ours: ours.buffer, theirs: theirs.buffer }
}

test('a request is, byte for byte, what stock kafkajs sends', async () => {
  const same = fc.asyncProperty(request, async (given) => {
    const { ours, theirs } = await bothEncode(given as Request)
    expect(ours.equals(theirs), 'same bytes').toBe(true)
  })
  await fc.assert(same, { seed, numRuns: 100 })
})

test.each([0, 63, 64, 8_191, 8_192, 1_048_575, 1_048_576])('also around a value of %i bytes', async (length) => {
  const messages = [{ key: 'k', value: Buffer.alloc(length, 7) }]
  const topicData = [{ topic: 't', partitions: [{ partition: 0, messages }] }]
  const { ours, theirs } = await bothEncode({ acks: -1, timeout: 1, producerId: -1, topicData })
  expect(ours.equals(theirs)).toBe(true)
})

test.each([
  ['compressed', { compression: 1 }, { key: 'k', value: 'v' }],
  ['with timestamps', {}, { key: 'k', value: 'v', timestamp: '1600000000000' }],
])('what is %s is left to kafkajs', async (_, options, message) => {
  const topicData = [{ topic: 't', partitions: [{ partition: 0, messages: [message] }] }]
  const { ours, theirs } = await bothEncode({ acks: -1, timeout: 1, producerId: -1, topicData, ...options })
  expect(ours.equals(theirs)).toBe(true)
})

test("the checksum is RFC 3720's, and stock kafkajs' for every length", () => {
  // B.4 of the RFC: 32 bytes of zeros, of ones, ascending.
  expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa)
  expect(crc32c(Buffer.alloc(32, 0xff))).toBe(0x62a8ab43)
  expect(crc32c(Buffer.from([...Array(32).keys()]))).toBe(0x46dd794e)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5_000 }), fc.nat(20), (array, from) => {
      const buffer = Buffer.from(array)
      expect(crc32c(buffer, from)).toBe(stockCrc(buffer.subarray(from)))
    }),
    { seed, numRuns: 500 },
  )
})
