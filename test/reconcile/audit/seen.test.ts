import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSeen } from '../../../src/reconcile/audit/seen.ts'
import { printedRandom } from '../../helpers/seed.ts'

const { seed } = printedRandom('seen')

test('it is a set of numbers', () => {
  const from = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER - 1_000 })
  fc.assert(
    fc.property(from, fc.array(fc.integer({ min: 0, max: 99 })), (start, steps) => {
      const [seen, set] = [createSeen(start, start + 100), new Set<number>()]
      for (const step of steps) {
        expect(seen.add(start + step)).toBe(!set.has(step))
        set.add(step)
      }
      for (let step = 0; step < 100; step++) expect(seen.has(start + step)).toBe(set.has(step))
    }),
    { seed },
  )
})

test('a number outside of it is a mistake', () => {
  const seen = createSeen(10, 20)
  for (const number of [9, 20]) {
    expect(() => seen.add(number)).toThrow('is not from 10')
    expect(() => seen.has(number)).toThrow(RangeError)
  }
})

test('a range with a hole of 2^52 numbers costs two pages', () => {
  const seen = createSeen(0, Number.MAX_SAFE_INTEGER)
  const numbers = [0, 2 ** 52]
  expect(numbers.map((number) => seen.add(number))).toEqual([true, true])
  expect([...numbers, 1].map((number) => seen.has(number))).toEqual([true, true, false])
})
