import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { printedRandom } from '../../helpers/seed.ts'
import { stackEnv } from '../../helpers/stack.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const ORDERS = 150

interface LastLine {
  readonly orders: number
  readonly paid: number
  readonly shipped: number
  readonly events: number
  readonly lost: number
  readonly duplicated: number
  readonly takeovers: number
}

/** As `npm run demo` runs it, on the stack of this run; 85 s beside other work on the two cores. */
function demo(...args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--import', './dev/needs.js', 'dev/demo.ts', ...args],
      { cwd: ROOT, env: { ...process.env, ...stackEnv() } },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    )
    onTestFinished(() => void child.kill())
  })
}

test(
  'the demo loses nothing, doubles nothing, and its carrier ships each paid order once',
  { timeout: 600_000 },
  async () => {
    const { seed } = printedRandom('demo')
    const { code, stdout, stderr } = await demo('--orders', String(ORDERS), '--seed', String(seed))
    expect(code, stderr).toBe(0)
    const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as LastLine
    expect(last).toMatchObject({ orders: ORDERS, lost: 0, duplicated: 0, shipped: last.paid, events: 3 * last.paid })
    expect(last.paid).toBeGreaterThan(ORDERS / 2)
    expect(last.takeovers).toBeGreaterThan(0)
  },
)
