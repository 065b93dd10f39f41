import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Row } from './checker/capture.ts'

const MAIN = join(import.meta.dirname, '..', 'src', 'cli', 'main.ts')
const FORMATS = ['table', 'json'] as const
const COMMAND_MS_MAX = 60_000
/** Each is a process of its own. */
const AT_ONCE = 3
/** Each command costs a second of a core; every list shows all of its rows anyway. */
const OF_A_KIND_MAX = 2
const PAGE = ['--limit', '1000']

/** Looks at everything that an operator can look at, in both forms, and keeps what is shown on both outputs. */
export async function captureCli(env: NodeJS.ProcessEnv, tablesDir: string, dir: string): Promise<void> {
  const rowsOf = (table: string) =>
    readFileSync(join(tablesDir, `${table}.jsonl`), 'utf8')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Row]))
  const shown = commandsFor(rowsOf('orders'), rowsOf('anomalies'), rowsOf('dead_letters')).flatMap((args) =>
    FORMATS.map((format) => [...args, '--output', format]),
  )
  const next = shown.entries()
  const work = async () => {
    for (const [n, args] of next)
      writeFileSync(
        join(dir, `${String(n + 1).padStart(2, '0')}-${args.slice(0, 2).join('-')}.txt`),
        await show(env, args),
      )
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

/** Every list, and some of what is in them: orders of two statuses, anomalies of two kinds, dead letters of two reasons. */
function commandsFor(orders: readonly Row[], anomalies: readonly Row[], letters: readonly Row[]): string[][] {
  const oneOfEach = (rows: readonly Row[], column: string) =>
    [...new Map(rows.map((row) => [String(row[column]), row])).values()].slice(0, OF_A_KIND_MAX)
  const namesOf = ({ merchant, out_trade_no }: Row) => [String(merchant), String(out_trade_no)]
  return [
    ...oneOfEach(orders, 'status').flatMap((row) => [
      ['order', 'show', ...namesOf(row)],
      ['order', 'timeline', ...namesOf(row)],
    ]),
    ['anomaly', 'list', '--state', 'all', ...PAGE],
    ...oneOfEach(anomalies, 'kind').map((row) => ['anomaly', 'show', String(row['id'])]),
    ['dlq', 'list', ...PAGE],
    ...oneOfEach(letters, 'reason').map((row) => ['dlq', 'inspect', String(row['id'])]),
    ...[
      ['audit', 'list'],
      ['bill', 'report'],
      ['brake', 'list'],
      ['config', 'check'],
      ['held', 'list', ...PAGE],
    ],
    ...[
      ['lane', 'status'],
      ['query', 'list'],
      ['token', 'list'],
    ],
  ]
}

/** @returns the command, both outputs, and how it ended: some say by their exit code what they found */
const show = (env: NodeJS.ProcessEnv, args: readonly string[]) =>
  new Promise<string>((resolve) => {
    const options = { env, timeout: COMMAND_MS_MAX, maxBuffer: 64 * 2 ** 20 }
    execFile(process.execPath, [MAIN, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : (error.code ?? error.signal ?? 'none')
      resolve(`$ paidonce ${args.join(' ')}\n${stdout}${stderr}exit ${code}\n`)
    })
  })
