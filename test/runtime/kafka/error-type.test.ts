import { expect, test } from 'vitest'
import { kafkaErrorType } from '../../../src/runtime/kafka/error-type.ts'

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
