import fc from 'fast-check'
import { expect, test } from 'vitest'
import { crc32c } from '../../../../src/runtime/kafka/guards/crc32c.ts'
import { encodeRecord } from '../../../../src/runtime/kafka/guards/record-encoding.ts'
import { printedRandom } from '../../../helpers/seed.ts'
import { apartKafkajs } from '../../../helpers/stock-kafkajs.ts'

const stock = apartKafkajs()
const stockRecord = stock.load('src/protocol/recordBatch/record/v0/index.js') as typeof encodeRecord
const stockCrc = stock.load('src/protocol/recordBatch/crc32C/index.js') as typeof crc32c
const { seed } = printedRandom('record encoding')

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
const text = fc.oneof(bytes, fc.string({ unit: 'grapheme', maxLength: 200 }), fc.string({ maxLength: 200 }))
const record = fc.record(
  {
    offsetDelta: fc.oneof(fc.nat(300), fc.nat(2 ** 30 - 1)),
    timestampDelta: fc.oneof(fc.constant(0), fc.nat(2 ** 30 - 1)),
    key: fc.option(text),
    value: fc.option(text),
    headers: fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.oneof(text, fc.array(text))),
  },
  { requiredKeys: [] },
)

test('a record is, byte for byte, what stock kafkajs writes', () => {
  const same = fc.property(record, (fields) => {
    expect(encodeRecord(fields).buffer.toString('hex')).toBe(stockRecord(fields).buffer.toString('hex'))
  })
  fc.assert(same, { seed, numRuns: 2_000 })
})

test.each([0, 63, 64, 127, 128, 8_191, 8_192, 16_384, 1_048_575, 1_048_576])('a value of %i bytes', (length) => {
  const fields = { value: Buffer.alloc(length, 7), key: 'k', offsetDelta: length }
  expect(encodeRecord(fields).buffer.equals(stockRecord(fields).buffer)).toBe(true)
})

test("the checksum is RFC 3720's, and stock kafkajs' for every length", () => {
  // B.4 of the RFC: 32 bytes of zeros, of ones, ascending.
  expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa)
  expect(crc32c(Buffer.alloc(32, 0xff))).toBe(0x62a8ab43)
  expect(crc32c(Buffer.from([...Array(32).keys()]))).toBe(0x46dd794e)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5_000 }), (array) => {
      const buffer = Buffer.from(array)
      expect(crc32c(buffer)).toBe(stockCrc(buffer))
    }),
    { seed, numRuns: 500 },
  )
})
