import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import pg from 'pg'
import type { BillFormat } from '../../providers/bill-formats.ts'
import type { Clock } from '../../runtime/clock.ts'
import { transactionOn } from '../../runtime/postgres.ts'
import { createBillRows } from '../../store/bill-rows.ts'
import { beginBillRun, finishBillRun, type BillOf } from '../../store/bill-runs.ts'
import { chinaDayStart, DAY_MS, EDGE_MS } from './china-day.ts'
import { reachNothing, type BillReach } from './crash-points.ts'
import type { BillFinding } from './finding.ts'
import { judgeBill } from './judge-bill.ts'
import { digestOf } from './open-bill.ts'
import type { BillReport } from './report.ts'

export type { BillReport, BillSums } from './report.ts'
export type { BillFinding, Side } from './finding.ts'

export interface BillRequest extends BillOf {
  readonly paths: readonly string[]
  readonly actor: string
  readonly format: BillFormat
  /** True: nothing is written down, and nobody is asked. */
  readonly dryRun: boolean
  /** As GROWTH.ARCHIVE_AFTER_DAYS. */
  readonly archiveAfterDays: number
}

export interface BillDeps {
  readonly databaseUrl: string
  readonly pool: pg.Pool
  readonly clock: Clock
  /** Asks and publishes; undefined: findings stay as they are. */
  readonly settle?: (findings: readonly BillFinding[]) => Promise<BillFinding[]>
  readonly onProgress?: OnProgress
  readonly reach?: BillReach
}

/** Rows read, rows matched. @param total null: nobody knows yet */
export type OnProgress = (stage: 'read' | 'matched', done: number, total: number | null) => void

export type BillImport = { readonly kind: 'done'; readonly report: BillReport } | { readonly kind: 'busy' }

/** First of two numbers of an advisory lock; the other is of the bill. */
const LOCK = 7_205
/** The server ends a statement by itself; a frozen one does not answer at all. */
const ANSWER_MS_MAX = 660_000
const CONNECT_MS_MAX = 10_000
const SESSION = {
  statement_timeout: '10min',
  idle_in_transaction_session_timeout: '10min',
  // Before the first use of a temporary table.
  temp_buffers: '64MB',
  work_mem: '32MB',
  jit: 'off',
}

/**
 * Matches the bill of one provider, merchant and day with what is known here. It changes no order: what the provider
 * confirms is published, and the orders' lanes decide. Run again, it does the same again: what was published is a
 * duplicate, and its findings stand in the place of the earlier ones.
 */
export async function importBill(request: BillRequest, deps: BillDeps): Promise<BillImport> {
  // Rows that wait for their statement outlive young collections, for which V8 makes more and more room: 276 MB for
  // 250,000 rows, and 163 MB in the same time where it does not.
  setFlagsFromString('--semi-space-growth-factor=1')
  const { provider, merchant, day } = request
  const { reach = reachNothing } = deps
  const filesSha256 = await digestOfAll(request.paths)
  const client = new pg.Client({
    ...{ connectionString: deps.databaseUrl, application_name: 'paidonce-bill' },
    ...{ connectionTimeoutMillis: CONNECT_MS_MAX, query_timeout: ANSWER_MS_MAX, keepAlive: true },
  })
  client.on('error', () => undefined)
  await client.connect()
  try {
    for (const [name, value] of Object.entries(SESSION))
      await client.query('select set_config($1, $2, false)', [name, value])
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1, hashtext($2)) as mine', [
      ...[LOCK, `${merchant}/${provider}/${day}`],
    ])
    if (rows[0]?.mine !== true) return { kind: 'busy' }
    const run = request.dryRun ? null : await beginBillRun(deps.pool, { ...request, filesSha256 })
    await reach('bill_begun')
    await createBillRows(client)
    const judged = await judgeBill(client, request, deps)
    const report = { run, provider, merchant, day, filesSha256, ...judged }
    if (run !== null) await save(client, run, report, request.format, reach)
    return { kind: 'done', report }
  } finally {
    await client.end()
  }
}

async function save(
  client: pg.Client,
  run: number,
  report: BillReport,
  format: BillFormat,
  reach: BillReach,
): Promise<void> {
  const { findings, result, digest, sums, counts, notJudged, undecided: not } = report
  const fromMs = chinaDayStart(report.day) + DAY_MS - 2 * EDGE_MS
  await reach('bill_settled')
  await transactionOn(
    client,
    (tx) =>
      finishBillRun(tx, run, {
        ...{ result, digest, report: { sums, counts, notJudged, undecided: not } },
        findings: findings.map((document) => ({ finding: document.finding, state: document.state, document })),
        matched:
          digest === null ? undefined : { isWhole: result !== 'undecided', fromMs, refunds: format.refundDaysMax > 0 },
      }),
    (step) => (step === 'before_begin' ? undefined : reach(`bill_${step}`)),
  )
}

async function digestOfAll(paths: readonly string[]): Promise<string> {
  const digests = await Promise.all(paths.map(async (path) => (await digestOf(path)).sha256))
  return createHash('sha256').update(digests.join('\n')).digest('hex')
}
