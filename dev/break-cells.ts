import { createVitest } from 'vitest/node'
import { CELLS } from './break-cell.ts'

/** Only the tests that name cells: the properties would find more, but take longer than all the others together. */
const TESTS = ['on-fact', 'on-command', 'held', 'decide-batch'].map((name) => `test/orders/${name}.test.ts`)

const vitest = await createVitest({
  config: false,
  watch: false,
  include: TESTS,
  setupFiles: ['dev/break-cells.setup.ts'],
  reporters: [{}],
  pool: 'threads',
  maxWorkers: 1,
})

/** @returns the full names of the tests that fail while the cell is broken; none is broken by the empty name. */
async function redTests(cell: string): Promise<string[]> {
  vitest.provide('brokenCell', cell)
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(await vitest.globTestSpecifications())
  if (unhandledErrors.length > 0) throw new AggregateError(unhandledErrors, `The tests did not run: ${cell}`)
  const tests = testModules.flatMap((module) => [...module.children.allTests()])
  if (tests.length < CELLS.length) throw new Error(`Only ${tests.length} tests ran.`)
  return tests.filter((one) => one.result().state === 'failed').map(({ fullName }) => fullName)
}

const startedMs = performance.now()
const before = await redTests('')
if (before.length > 0) throw new Error(`Red with every cell whole: ${before.join(', ')}`)

let unguarded = 0
for (const cell of CELLS) {
  const red = await redTests(cell)
  if (red.length === 0) unguarded += 1
  process.stdout.write(`${cell.padEnd(32)}${String(red.length).padStart(3)} red  ${red[0] ?? 'NONE'}\n`)
}
await vitest.close()
const seconds = Math.round((performance.now() - startedMs) / 1_000)
process.stdout.write(`${CELLS.length} cells broken in ${seconds} s, ${unguarded} without a red test\n`)
process.exitCode = unguarded === 0 ? 0 : 1
