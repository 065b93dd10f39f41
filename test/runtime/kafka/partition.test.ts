import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { murmur2, partitionFor } from '../../../src/runtime/kafka/partition.ts'
import { apartKafkajs } from '../../helpers/stock-kafkajs.ts'

/** From org.apache.kafka.common.utils.UtilsTest#testMurmur2. */
test.each([
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
])("murmur2 of %s is that of Kafka's own test", (key, hash) => {
  expect(murmur2(Buffer.from(key))).toBe(hash)
})

test('agrees with an independent murmur2 on bytes of every length', () => {
  const reference = apartKafkajs().load('src/producer/partitioners/default/murmur2.js') as (key: Buffer) => number
  for (let length = 0; length < 300; length++) {
    const key = randomBytes(length)
    expect(murmur2(key), key.toString('hex')).toBe(reference(key))
  }
})

test('a key in Chinese and its bytes go to the same partition, within the count', () => {
  const key = '订单20261130000001'
  expect(partitionFor(key, 12)).toBe(partitionFor(Buffer.from(key), 12))
  expect(partitionFor('', 1)).toBe(0)
  const used = new Set(Array.from({ length: 1_000 }, (_, i) => partitionFor(`order-${i}`, 12)))
  expect([...used].sort((a, b) => a - b)).toEqual([...Array(12).keys()])
})
