import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sweep, sweepNow } from './parts/leftovers.ts'
import * as processes from './parts/process.ts'
import { MissingPrograms, requirePrograms } from './parts/prerequisites.ts'
import { say } from './parts/progress.ts'
import { startStack, type Stack } from './parts/stack.ts'
import { givenStack, LOCAL_DIR, runningStack } from './parts/state.ts'
import { endAtHelp } from './parts/usage.ts'
import { runSuite, type SuiteResult } from './parts/vitest.ts'
import { STACK, SUITES, type Suite } from './suites.ts'

const USAGE = `usage: npm test [-- SUITE…]     suites: ${SUITES.map((suite) => suite.name).join(', ')}

Starts a stack of its own if none runs, and stops it at the end. A suite whose programs are missing is reported as not
run; with CI=true that is a failure.`

const RESULTS = join(LOCAL_DIR, 'test')

async function main(): Promise<number> {
  endAtHelp(USAGE)
  const { positionals } = parseArgs({ allowPositionals: true })
  const wanted = SUITES.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  if (positionals.some((name) => !SUITES.some((suite) => suite.name === name))) {
    say(USAGE)
    return 2
  }
  mkdirSync(RESULTS, { recursive: true })
  forgetOldLogs()
  const run = randomUUID()
  process.env['PAIDONCE_RUN'] = run // inherited by all that this run starts: see the sweep
  processes.dieTogether()
  process.on('exit', () => sweepNow('PAIDONCE_RUN', run))
  const results: SuiteResult[] = []
  const host = stackHost()
  try {
    for (const suite of wanted) results.push(await runOne(suite, host))
  } finally {
    await host.stop()
  }
  return conclude(results, await sweep('PAIDONCE_RUN', run))
}

/** The logs of stacks that fault tests had of their own are kept for an hour. */
function forgetOldLogs(): void {
  const parent = join(LOCAL_DIR, 'faults')
  mkdirSync(parent, { recursive: true })
  for (const name of readdirSync(parent))
    if (Date.now() - statSync(join(parent, name)).mtimeMs > 3_600_000)
      rmSync(join(parent, name), { recursive: true, force: true })
}

interface StackHost {
  readonly env: () => Promise<NodeJS.ProcessEnv>
  readonly stop: () => Promise<void>
}

/** The stack that is given or runs, else one of our own, started when the first suite needs it. */
function stackHost(): StackHost {
  const dir = join(RESULTS, 'stack')
  let own: Stack | undefined
  return {
    env: async () => {
      const present = givenStack(process.env) ?? runningStack()
      if (present !== undefined) return { ...present }
      if (own === undefined) {
        rmSync(dir, { recursive: true, force: true })
        own = await startStack({ dir })
      }
      return { ...own.env }
    },
    stop: async () => {
      await own?.drop()
    },
  }
}

async function runOne(suite: Suite, host: StackHost): Promise<SuiteResult> {
  say(`\n── ${suite.name}: ${suite.about}`)
  try {
    const given = suite.stack && givenStack(process.env) !== undefined
    await requirePrograms(suite.needs.filter((program) => !given || !STACK.includes(program)))
    return await runSuite(suite.name, RESULTS, suite.stack ? await host.env() : {})
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    say(reason)
    return error instanceof MissingPrograms
      ? { name: suite.name, kind: 'not_run', reason }
      : { name: suite.name, kind: 'ran', passed: 0, failed: 1, skipped: 0, seconds: 0, failures: [reason] }
  }
}

function conclude(results: readonly SuiteResult[], leftovers: readonly string[]): number {
  let passed = 0
  let failed = 0
  const strict = process.env['CI'] === 'true'
  say('')
  for (const result of results) {
    if (result.kind === 'not_run') {
      if (strict) failed++
      say(`${result.name.padEnd(10)} NOT RUN: ${result.reason.replaceAll('\n', '; ')}`)
      continue
    }
    passed += result.passed
    failed += result.failed
    const skipped = result.skipped === 0 ? '' : `, ${result.skipped} skipped`
    say(
      `${result.name.padEnd(10)} ${result.passed} passed, ${result.failed} failed${skipped} (${result.seconds.toFixed(0)} s)`,
    )
    for (const failure of result.failures) say(`           ✖ ${failure}`)
  }
  for (const line of leftovers) say(`left running, now ended: ${line}`)
  if (leftovers.length > 0) failed++
  process.stdout.write(`${passed} passed, ${failed} failed\n`)
  return failed === 0 ? 0 : 1
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error))
    process.stdout.write('0 passed, 1 failed\n')
    process.exit(1)
  },
)
