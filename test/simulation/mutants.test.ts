import { describe, expect, test } from 'vitest'
import { catchMutant, HISTORIES_MAX } from './catch-mutant.ts'
import { MUTANTS } from './mutants/all.ts'
import { checkMutant, mutate } from './mutants/mutant.ts'

/** The same for every commit, so that a mutant that is hard to catch is no matter of luck. */
const FIRST = 1

test('each piece that a mutant replaces stands in the source once', () => {
  expect(MUTANTS.length).toBeGreaterThanOrEqual(18)
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
  for (const mutant of MUTANTS) checkMutant(mutant)
  const change = { file: 'x', find: 'a', replace: 'b' }
  expect(() => mutate('c', change)).toThrow('0 times')
  expect(() => mutate('aa', change)).toThrow('2 times')
})

describe('a wrong design is caught:', () => {
  test.concurrent.each(MUTANTS)('$name', async (mutant) => {
    const caught = await catchMutant(mutant, FIRST)
    const said = caught.kind === 'caught' ? `seed ${caught.seed}, ${caught.detail.slice(0, 90)}` : 'SURVIVED'
    process.stdout.write(`${mutant.name}: ${caught.after} histories; ${said}\n`)
    expect(caught.kind, mutant.why).toBe('caught')
    expect(caught.after).toBeLessThanOrEqual(HISTORIES_MAX)
  })
})
