import { execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Report } from '../../chaos/report.ts'

const ROOT = join(import.meta.dirname, '..', '..')
/** Of this commit, so that every change is tried by another one and the same again when it is looked for. */
const commitSeed = () =>
  1 + (Number.parseInt(execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT }).toString().slice(0, 7), 16) % 2 ** 31)
const { CHAOS_MINUTES: minutes = '5', CHAOS_SEED = String(commitSeed()) } = process.env

/** In a process of its own, as a person runs it. @returns its last line */
function chaos(): Promise<Report> {
  console.log(`npm run chaos -- --minutes ${minutes} --seed ${CHAOS_SEED}`)
  const args = [join(ROOT, 'chaos', 'main.ts'), '--minutes', minutes, '--seed', CHAOS_SEED]
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return new Promise((resolve, reject) => {
    child.once('close', (code) => {
      const last = output.trim().split('\n').at(-1) ?? ''
      if (last.startsWith('{')) resolve(JSON.parse(last) as Report)
      else reject(new Error(`chaos exited ${code} without a report`))
    })
  })
}

test(`${minutes} minutes of faults on three brokers: nothing lost, doubled or invented, and all caught up with`, async () => {
  const report = await chaos()
  expect(report.oracles.filter(({ violated }) => Object.keys(violated).length > 0)).toEqual([])
  expect(report.safety).toEqual({
    ...{ lost: 0, duplicated: 0, phantom: 0, outOfOrder: 0, illegal: 0 },
    ...{ amountMismatch: 0, forgedPublished: 0, secretsLeaked: 0 },
  })
  expect(report.ok).toBe(true)
  // A run in which nothing went wrong shows nothing.
  expect(report.faults.observed).toBeGreaterThanOrEqual(2 * Number(minutes))
  expect(report.callbacks.success).toBeGreaterThan(100)
})
