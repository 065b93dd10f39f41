import { spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { say } from './progress.ts'

export type SuiteResult =
  | {
      readonly name: string
      readonly kind: 'ran'
      readonly passed: number
      readonly failed: number
      readonly skipped: number
      readonly seconds: number
      /** Full names of what failed, each with the beginning of its reason. */
      readonly failures: readonly string[]
    }
  | { readonly name: string; readonly kind: 'not_run'; readonly reason: string }

/** The part of vitest's JSON report (Jest's form) that we count by. */
interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: 'passed' | 'failed'
    readonly message: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly failureMessages?: readonly string[] | null
    }[]
  }[]
}

const REASON_CHARS_MAX = 400
const ROOT = join(import.meta.dirname, '..', '..')

/** Runs one vitest project with its progress on the screen. A run that ends badly without a failed test counts as one. */
export async function runSuite(name: string, resultsDir: string, env: NodeJS.ProcessEnv): Promise<SuiteResult> {
  const file = join(resultsDir, `${name}.json`)
  const timing = join(resultsDir, `${name}.seconds`)
  rmSync(file, { force: true })
  const last = readText(timing)
  if (last !== undefined) say(`   took ${last} s last time`)
  const start = performance.now()
  const code = await vitest(
    ['--project', name, '--reporter=default', '--reporter=json', `--outputFile.json=${file}`],
    env,
  )
  const seconds = (performance.now() - start) / 1000
  writeFileSync(timing, seconds.toFixed(0))
  const text = readText(file)
  if (text === undefined)
    return {
      ...{ name, kind: 'ran', passed: 0, failed: 1, skipped: 0, seconds },
      failures: [`vitest exited ${code} without a report`],
    }
  const report = JSON.parse(text) as Report
  const failures = report.testResults.flatMap((result) => failuresOf(result))
  if (report.testResults.length === 0) failures.push('the suite has no tests')
  if (code !== 0 && failures.length === 0) failures.push(`vitest exited ${code}: see its output above`)
  return {
    ...{ name, kind: 'ran', passed: report.numPassedTests, failed: failures.length, seconds, failures },
    skipped: report.numPendingTests + report.numTodoTests,
  }
}

/** Each failure of one test file: its name, then why. */
export function failuresOf(result: Report['testResults'][number]): string[] {
  const file = relative(ROOT, result.name)
  const failed = result.assertionResults.filter((test) => test.status === 'failed')
  if (failed.length === 0 && result.status === 'failed')
    return [`${file}: ${result.message.split('\n')[0] ?? 'does not load'}`]
  return failed.map((test) => `${file}: ${test.fullName}${reasonOf(test.failureMessages?.[0])}`)
}

/** Where only the end of the output is kept, a name alone sends the reader to run it all again. */
function reasonOf(message: string | undefined): string {
  const lines = stripVTControlCharacters(message ?? '').split('\n')
  const said = lines.filter((line) => line.trim() !== '' && !line.trimStart().startsWith('at '))
  return said.length === 0 ? '' : `\n             ${said.join(' ').slice(0, REASON_CHARS_MAX)}`
}

function vitest(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve, reject) => {
    const entry = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
    const child = spawn(process.execPath, [entry, 'run', '--passWithNoTests', ...args], {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['ignore', 2, 2], // our own stdout says one thing only: the counts
    })
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
