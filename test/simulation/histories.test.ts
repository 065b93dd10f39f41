import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { baseSeed } from './base-seed.ts'
import { coverageTable, missedBy } from './coverage.ts'
import { REGRESSIONS } from './regressions.ts'
import { runSeeds, summaryOf } from './run-seeds.ts'
import type { WorkerReport } from './worker.ts'

const run = promisify(execFile)
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

test('nor does it matter which process runs them, and whether it has run others', async () => {
  const script = join(import.meta.dirname, '..', '..', 'dev', 'simulate-histories.ts')
  const asked = ['--seeds', '20', '--seed', '1', '--threads']
  const said = (threads: string) => run(process.execPath, [script, ...asked, threads])
  const [alone, shared] = [await said('1'), await said('3')]
  const { digest, histories } = await runSeeds({ first: 1, count: 20 })
  expect(histories).toBe(20)
  for (const { stdout } of [alone, shared]) expect(stdout).toContain(`digest ${digest.toString(16)}`)
})

test('fresh seeds: nothing is emitted twice, lost, out of order, or left undone', async () => {
  const { commit, first } = baseSeed()
  const report = await runSeeds({ first, count: 1_000_000, least: FRESH_MIN, msMax: FRESH_MS })
  process.stdout.write(`base seed ${first} of commit ${commit.slice(0, 12)}: ${summaryOf(report)}\n`)
  process.stdout.write(`${coverageTable(report.tally)}\n`)
  expect(failuresOf(report)).toEqual([])
  expect(report.histories).toBeGreaterThanOrEqual(FRESH_MIN)
  expect(report.faults).toBeGreaterThan(report.histories)
  expect(missedBy(report.tally)).toEqual([])
})

test('a fault that did nothing, or a crash point that a fault has not met, is named', () => {
  const missed = missedBy({})
  expect(missed).toContain('restore')
  expect(missed).toContain('processor batch_commit_sent lost')
  expect(missed.filter((what) => what.startsWith('gateway '))).toHaveLength(16)
  const all = Object.fromEntries(missed.map((what) => [what, 1]))
  expect(missedBy(all)).toEqual([])
  expect(missedBy({ ...all, 'gateway acked pause': 0 })).toEqual(['gateway acked pause'])
})
