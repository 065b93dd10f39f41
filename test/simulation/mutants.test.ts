import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { commitNow } from '../../chaos/commit-now.ts'
import { notePower } from '../../chaos/power.ts'
import { writeSection } from '../../chaos/write-report.ts'
import { catchMutant, HISTORIES_MAX } from './catch-mutant.ts'
import { MUTANTS } from './mutants/all.ts'
import { checkMutant, mutate } from './mutants/mutant.ts'

/** The same for every commit, so that a mutant that is hard to catch is no matter of luck. */
const FIRST = 1
const DECISION = join(import.meta.dirname, '..', '..', 'docs', 'decisions', '007-simulation.md')
let tried = 0
const needed: { readonly name: string; readonly after: number; readonly oracle: string }[] = []

afterAll(() => {
  if (tried === MUTANTS.length) notePower('mutants', { commit: commitNow(), caught: needed.length, of: MUTANTS.length })
})

/** With WRITE_TABLES=1: puts what each needed into the decision's table. */
afterAll(() => {
  if (process.env['WRITE_TABLES'] !== '1') return
  const rows = needed
    .toSorted((a, b) => b.after - a.after || (a.name < b.name ? -1 : 1))
    .map(({ name, after, oracle }) => `| ${name} | ${after} | ${oracle} |`)
  const head = ['| wrong design | histories | found by |', '| --- | --- | --- |']
  writeSection('mutants', [...head, ...rows].join('\n'), DECISION)
})

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
    tried++
    const caught = await catchMutant(mutant, FIRST)
    const said = caught.kind === 'caught' ? `seed ${caught.seed}, ${caught.detail.slice(0, 90)}` : 'SURVIVED'
    if (caught.kind === 'caught') needed.push({ name: mutant.name, after: caught.after, oracle: caught.oracle })
    process.stdout.write(`${mutant.name}: ${caught.after} histories; ${said}\n`)
    expect(caught.kind, mutant.why).toBe('caught')
    expect(caught.after).toBeLessThanOrEqual(HISTORIES_MAX)
  })
})
