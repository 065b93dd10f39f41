import { expect, test } from 'vitest'
import { once } from '../../src/consumer/effect.ts'

test('times that make no sense are refused', () => {
  const effect = { call: () => Promise.reject(new Error()), ask: () => Promise.reject(new Error()) }
  expect(() => once({ ...effect, callMs: 0 })).toThrow('callMs')
  expect(() => once({ ...effect, lateMs: -1 })).toThrow('lateMs')
  expect(() => once({ ...effect, lateMs: 900_000 })).toThrow('settleMsMax')
})
