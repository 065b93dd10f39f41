import { createHash } from 'node:crypto'
import type pg from 'pg'
import type { BillFormat } from '../../providers/bill-formats.ts'
import { yuanOfE5 } from '../../providers/bill-sums.ts'
import { countInDay, indexBillRows, type BilledRow } from '../../store/bill-rows.ts'
import type { BillOf } from '../../store/bill-runs.ts'
import { reachNothing } from './crash-points.ts'
import { chinaDayStart, DAY_MS } from './china-day.ts'
import { findAbsent } from './find-absent.ts'
import { lineOf, noCounts, type BillFinding } from './finding.ts'
import { loadBill, type BadBill, type LoadedBill, type UnreadableLine } from './load-bill.ts'
import { matchBill } from './match-bill.ts'
import type { BillReport } from './report.ts'
import type { BillDeps, BillRequest } from './start.ts'

/** Of each kind; what is more is counted, and comes again when these are settled. */
const NAMED_MAX = 10_000
export type Judged = Omit<BillReport, 'run' | 'filesSha256' | keyof BillOf>

/** What a bill says that is not known here, and the other way round. @param client has the bill's table of rows, empty */
export async function judgeBill(client: pg.ClientBase, request: BillRequest, deps: BillDeps): Promise<Judged> {
  const { onProgress = () => undefined, reach = reachNothing } = deps
  const loaded = await loadBill(client, request.paths, request.format, (rows) => onProgress('read', rows, null))
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
  const rows = loaded.bills.reduce((sum, bill) => sum + bill.rows, 0)
  for await (const page of matchBill(client, request.merchant)) {
    for (const row of page.rows) tally.add(row)
    note(page.findings)
    onProgress('matched', tally.rows(), rows)
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
  const fees = yuanOfE5(loaded.bills.reduce((sum, bill) => sum + bill.feesE5, 0n))
  const sums = {
    rows,
    ...tally.sums(),
    fees,
    others: rows - tally.sums().payments - tally.sums().refunds - loaded.unreadable.length,
  }
  const digest = hash.update(JSON.stringify([sums, notJudged, missing])).digest('hex')
  await reach('bill_matched')
  const findings = deps.settle === undefined || request.dryRun ? found : await deps.settle(found)
  const isFound = Object.values(counts).some((count) => count > 0)
  return {
    ...{ digest, sums, counts, notJudged, findings },
    // A part of the day decides nothing about the day.
    result: missing.length > 0 ? 'undecided' : isFound ? 'findings' : 'ok',
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
  const listsBoth = bills.every(({ lists }) => lists.payments && lists.refunds)
  const { inside, outside } = await countInDay(client, startMs, startMs + DAY_MS, listsBoth)
  return outside > inside ? `${outside} of its ${inside + outside} rows are of other days` : undefined
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
    rows: () => found.payments + found.refunds,
    sums: () => ({ ...found, paymentsMinor: String(found.paymentsMinor), refundsMinor: String(found.refundsMinor) }),
  }
}

const unreadableFinding = ({ file, line, reason, text }: UnreadableLine): BillFinding => ({
  ...{ finding: 'unreadable', state: 'open', what: null, outTradeNo: null, ref: null, paymentRef: null, askRef: null },
  // Postgres' documents take no NUL, and no half of a pair.
  ...{ there: null, here: null, file, line, detail: `${reason}: ${text.replaceAll('\0', '\ufffd').toWellFormed()}` },
})
