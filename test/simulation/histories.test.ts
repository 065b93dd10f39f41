import { describe, expect, test } from 'vitest'
import { baseSeed } from './base-seed.ts'
import { REGRESSIONS } from './regressions.ts'
import { runSeeds, summaryOf } from './run-seeds.ts'
import type { WorkerReport } from './worker.ts'

const FRESH_MS = 120_000
const FRESH_MIN = 5_000

const failuresOf = ({ failures }: WorkerReport) =>
  failures.map(({ seed, kinds, failure }) => `seed ${seed} [${kinds.join(' ')}] ${failure?.detail ?? ''}`)

describe('seeds that once found something:', () => {
  test.each(REGRESSIONS)('$seed, $was', async ({ seed }) => {
    expect(failuresOf(await runSeeds({ first: seed, count: 1, threads: 1 }))).toEqual([])
  })
})

test('the same seeds give the same histories, step by step, however they are shared out', async () => {
  const [one, other] = [await runSeeds({ first: 1, count: 40, threads: 1 }), await runSeeds({ first: 1, count: 40 })]
  expect(one.steps).toBeGreaterThan(10_000)
  expect([one.digest, one.steps, one.events]).toEqual([other.digest, other.steps, other.events])
  const next = await runSeeds({ first: 41, count: 40 })
  expect(next.digest).not.toBe(one.digest)
})

test('fresh seeds: nothing is emitted twice, lost, out of order, or left undone', async () => {
  const { commit, first } = baseSeed()
  const report = await runSeeds({ first, count: 1_000_000, least: FRESH_MIN, msMax: FRESH_MS })
  process.stdout.write(`base seed ${first} of commit ${commit.slice(0, 12)}: ${summaryOf(report)}\n`)
  expect(failuresOf(report)).toEqual([])
  expect(report.histories).toBeGreaterThanOrEqual(FRESH_MIN)
  expect(report.faults).toBeGreaterThan(report.histories)
})
