import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import pg from 'pg'
import type { BillFormat } from '../../providers/bill-formats.ts'
import { yuanOfE5 } from '../../providers/bill-sums.ts'
import type { Clock } from '../../runtime/clock.ts'
import { transactionOn } from '../../runtime/postgres.ts'
import { countInDay, createBillRows, indexBillRows, type BilledRow } from '../../store/bill-rows.ts'
import { beginBillRun, finishBillRun, type BillOf, type BillResult } from '../../store/bill-runs.ts'
import { chinaDayStart, DAY_MS, EDGE_MS } from './china-day.ts'
import { findAbsent } from './find-absent.ts'
import { lineOf, noCounts, type BillCounts, type BillFinding } from './finding.ts'
import { loadBill, type BadBill, type LoadedBill, type UnreadableLine } from './load-bill.ts'
import { matchBill } from './match-bill.ts'
import { digestOf } from './open-bill.ts'

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
  readonly onRows?: (rows: number) => void
}

/** Money in minor units of CNY, as text: a year's sum may pass 2^53. */
export interface BillSums {
  readonly rows: number
  readonly payments: number
  readonly paymentsMinor: string
  readonly refunds: number
  readonly refundsMinor: string
  /** In yuan, to five decimals. */
  readonly fees: string
  /** Rows about nothing of ours: other merchants of a partner, other kinds of business. */
  readonly others: number
}

export interface BillReport extends BillOf {
  /** Null: a dry run. */
  readonly run: number | null
  readonly filesSha256: string
  readonly result: BillResult
  readonly digest: string | null
  readonly sums: BillSums | null
  readonly counts: BillCounts
  /** What is known here and may stand in the bills of earlier days, which are not here. */
  readonly notJudged: number
  readonly undecided: readonly { readonly reason: BadBill['reason'] | 'accounts_missing'; readonly detail: string }[]
  readonly findings: readonly BillFinding[]
}

export type BillImport = { readonly kind: 'done'; readonly report: BillReport } | { readonly kind: 'busy' }

/** First of two numbers of an advisory lock; the other is of the bill. */
const LOCK = 7_205
/** Of each kind; what is more is counted, and comes again when these are settled. */
const NAMED_MAX = 10_000
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
  const filesSha256 = await digestOfAll(request.paths)
  const client = new pg.Client({ connectionString: deps.databaseUrl, application_name: 'paidonce-bill' })
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
    await createBillRows(client)
    const judged = await judge(client, request, deps)
    const report = { run, provider, merchant, day, filesSha256, ...judged }
    if (run !== null) await save(client, run, report, request.format)
    return { kind: 'done', report }
  } finally {
    await client.end()
  }
}

type Judged = Omit<BillReport, 'run' | 'filesSha256' | keyof BillOf>

async function judge(client: pg.ClientBase, request: BillRequest, deps: BillDeps): Promise<Judged> {
  const loaded = await loadBill(client, request.paths, request.format, deps.onRows ?? (() => undefined))
  if (loaded.kind === 'bad') return undecided(loaded.bad)
  await indexBillRows(client)
  const otherDay = await isOfOtherDay(client, loaded.bills, request.day)
  if (otherDay !== undefined) return undecided({ reason: 'other_day', detail: otherDay })

  const counts = noCounts()
  const found: BillFinding[] = []
  const hash = createHash('sha256')
  const note = (findings: readonly BillFinding[]) => {
    for (const finding of findings) {
      hash.update(`${lineOf(finding)}\n`)
      counts[finding.finding] += 1
      if (counts[finding.finding] <= NAMED_MAX) found.push(finding)
    }
  }
  note(loaded.unreadable.map(unreadableFinding))
  const tally = createTally()
  for await (const page of matchBill(client, request.merchant)) {
    for (const row of page.rows) tally.add(row)
    note(page.findings)
  }
  const missing = missingAccounts(loaded.bills, request.format)
  let notJudged = 0
  const lists = {
    payments: loaded.bills.every((bill) => bill.lists.payments),
    refunds: loaded.bills.every((bill) => bill.lists.refunds),
  }
  if (missing.length === 0)
    for await (const absent of findAbsent({
      ...{ client, db: deps.pool, of: request, format: request.format, lists, unreadable: loaded.unreadable },
      ...{ archiveAfterDays: request.archiveAfterDays, nowMs: deps.clock.now().getTime() },
    })) {
      note(absent.findings)
      notJudged += absent.notJudged
    }
  const rows = loaded.bills.reduce((sum, bill) => sum + bill.rows, 0)
  const fees = yuanOfE5(loaded.bills.reduce((sum, bill) => sum + bill.feesE5, 0n))
  const sums = {
    rows,
    ...tally.sums(),
    fees,
    others: rows - tally.sums().payments - tally.sums().refunds - loaded.unreadable.length,
  }
  const digest = hash.update(JSON.stringify([sums, notJudged, missing])).digest('hex')
  const findings = deps.settle === undefined || request.dryRun ? found : await deps.settle(found)
  const isFound = Object.values(counts).some((count) => count > 0)
  return {
    ...{ digest, sums, counts, notJudged, findings },
    result: isFound ? 'findings' : missing.length > 0 ? 'undecided' : 'ok',
    undecided: missing.map((account) => ({
      ...{
        reason: 'accounts_missing',
        detail: `the bill of account ${account} is not here, so nothing is said to be missing there`,
      },
    })),
  }
}

const undecided = (bad: BadBill): Judged => ({
  ...{
    result: 'undecided',
    digest: null,
    sums: null,
    counts: noCounts(),
    notJudged: 0,
    undecided: [bad],
    findings: [],
  },
})

/** Undefined: it is of that day. */
async function isOfOtherDay(
  client: pg.ClientBase,
  bills: Extract<LoadedBill, { kind: 'loaded' }>['bills'],
  day: string,
): Promise<string | undefined> {
  const startMs = chinaDayStart(day)
  const other = bills.find(({ fromMs }) => fromMs !== null && fromMs !== startMs)
  if (other !== undefined) return `it begins at another time than ${day} does`
  const { inside, outside } = await countInDay(client, startMs, startMs + DAY_MS)
  return outside > inside ? `${outside} of its ${inside + outside} payments are of other days` : undefined
}

const missingAccounts = (bills: readonly { readonly account: string | null }[], { accounts }: BillFormat) =>
  [...accounts].filter((account) => !bills.some((bill) => bill.account === account))

function createTally() {
  const found = { payments: 0, paymentsMinor: 0n, refunds: 0, refundsMinor: 0n }
  return {
    add: ({ what, amountMinor }: BilledRow) => {
      found[`${what}s`] += 1
      found[`${what}sMinor`] += BigInt(amountMinor ?? 0)
    },
    sums: () => ({ ...found, paymentsMinor: String(found.paymentsMinor), refundsMinor: String(found.refundsMinor) }),
  }
}

const unreadableFinding = ({ file, line, reason, text }: UnreadableLine): BillFinding => ({
  ...{ finding: 'unreadable', state: 'open', what: null, outTradeNo: null, ref: null, paymentRef: null, askRef: null },
  // Postgres' documents take no NUL, and no half of a pair.
  ...{ there: null, here: null, file, line, detail: `${reason}: ${text.replaceAll('\0', '\ufffd').toWellFormed()}` },
})

async function save(client: pg.Client, run: number, report: BillReport, format: BillFormat): Promise<void> {
  const { findings, result, digest, sums, counts, notJudged, undecided: not } = report
  const wasMatched = digest !== null
  const fromMs = chinaDayStart(report.day) + DAY_MS - 2 * EDGE_MS
  await transactionOn(client, (tx) =>
    finishBillRun(tx, run, {
      ...{ result, digest, report: { sums, counts, notJudged, undecided: not } },
      findings: findings.map((document) => ({ finding: document.finding, state: document.state, document })),
      seen: wasMatched ? { fromMs, refunds: format.refundDaysMax > 0 } : undefined,
    }),
  )
}

async function digestOfAll(paths: readonly string[]): Promise<string> {
  const digests = await Promise.all(paths.map(async (path) => (await digestOf(path)).sha256))
  return createHash('sha256').update(digests.join('\n')).digest('hex')
}
