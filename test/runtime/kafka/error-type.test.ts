import { expect, test } from 'vitest'
import { isFenced, kafkaErrorType } from '../../../src/runtime/kafka/error-type.ts'

const typed = (type: string) => Object.assign(new Error(type), { type })

test('the type is found under what kafkajs wraps around it', () => {
  expect(kafkaErrorType(typed('NOT_LEADER_FOR_PARTITION'))).toBe('NOT_LEADER_FOR_PARTITION')
  expect(kafkaErrorType(new Error('retries', { cause: new Error('again', { cause: typed('X') }) }))).toBe('X')
  expect(kafkaErrorType(new Error('none'))).toBeUndefined()
  expect(kafkaErrorType('text')).toBeUndefined()
})

test('a chain of causes that never ends does', () => {
  const error = new Error('loop')
  error.cause = error
  expect(kafkaErrorType(error)).toBeUndefined()
})

test('fenced is the old epoch or the expired id', () => {
  expect(isFenced(typed('INVALID_PRODUCER_EPOCH'))).toBe(true)
  expect(isFenced(new Error('retries', { cause: typed('INVALID_PRODUCER_ID_MAPPING') }))).toBe(true)
  expect(isFenced(typed('CONCURRENT_TRANSACTIONS'))).toBe(false)
})
