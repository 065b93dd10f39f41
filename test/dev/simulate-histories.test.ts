import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
const run = (file: string, ...args: string[]) =>
  spawnSync(process.execPath, [join(ROOT, file), ...args], { encoding: 'utf8', timeout: 60_000 })

test.each([
  [['--bogus']],
  [['--seeds']],
  [['--seed', '-1']],
  [['extra']],
  [['--seeds', '0']],
  [['--seeds', '']],
  [['--seeds', '1e3']],
  [['--threads', '0']],
  [['--threads', '65']],
  [['--seed', '9007199254740991', '--seeds', '2']],
])(
  'simulate:histories %j: the usage, and exit 2',
  (args) => {
    const { status, stdout, stderr } = run('dev/simulate-histories.ts', ...args)
    expect([status, stdout + stderr]).toEqual([2, expect.stringContaining('usage: npm run simulate:histories')])
    expect(stderr).not.toContain('    at ')
  },
  90_000,
)

test.each([
  'dev/start.ts',
  'dev/test.ts',
  'dev/demo.ts',
  'dev/stack.ts',
  'dev/simulate.ts',
  'dev/simulate-histories.ts',
  'bench/main.ts',
  'bench/patterns/main.ts',
  'chaos/main.ts',
])(
  '%s --help: the usage, exit 0, and nothing is started',
  (file) => {
    const { status, stdout, stderr } = run(file, '--help')
    expect([status, stdout, stderr]).toEqual([0, expect.stringMatching(/^usage: npm /), ''])
  },
  90_000,
)

test('the checker, of a folder that is no capture: exit 3, as nothing was decided', () => {
  const { status, stderr } = run('chaos/checker/main.ts', '/nowhere')
  expect([status, stderr]).toEqual([3, expect.stringContaining('/nowhere could not be checked: ENOENT')])
  expect(stderr).not.toContain('    at ')
  expect(run('chaos/checker/main.ts').status).toBe(2)
})
