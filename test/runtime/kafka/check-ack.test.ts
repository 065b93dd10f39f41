import { expect, test } from 'vitest'
import { AckMismatch, checkAck } from '../../../src/runtime/kafka/check-ack.ts'

const ack = { topicName: 'out', partition: 3, errorCode: 0, baseOffset: '7' }

test('one entry for exactly this partition is an acknowledgement', () => {
  expect(() => checkAck('out', 3, [ack])).not.toThrow()
})

test.each([
  ['none', []],
  ['another partition', [{ ...ack, partition: 2 }]],
  ['another topic', [{ ...ack, topicName: 'other' }]],
  ['an error', [{ ...ack, errorCode: 6 }]],
  ['two entries', [ack, { ...ack, partition: 4 }]],
])('%s is not', (_, acks) => {
  expect(() => checkAck('out', 3, acks)).toThrow(AckMismatch)
})
