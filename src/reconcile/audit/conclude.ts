import { createHash } from 'node:crypto'
import type pg from 'pg'
import { finishAudit, readAuditFindings, type AuditResult, type AuditRun } from '../../store/audit-runs.ts'
import type { LaneReport } from './audit-lane.ts'
import type { OrdersReport } from './audit-orders.ts'
import { FINDINGS, FINDINGS_SHOWN_MAX, noCounts, type Counts, type Finding } from './finding.ts'
import type { Undecided } from './lane-window.ts'

export interface AuditReport {
  readonly run: Pick<AuditRun, 'id' | 'sinceMs' | 'untilMs'>
  readonly result: AuditResult
  readonly digest: string
  readonly counts: Counts
  /** Messages in topics that were judged, and orders. */
  readonly events: number
  readonly messages: number
  readonly orders: number
  readonly undecided: readonly Undecided[]
  /** The first of them, by lane and number, then those of orders. */
  readonly findings: readonly Finding[]
}

/** Adds up what was judged, and ends the run. */
export async function conclude(
  pool: pg.Pool,
  run: AuditRun,
  lanes: readonly LaneReport[],
  orders: OrdersReport,
  gone: readonly Undecided[],
): Promise<AuditReport> {
  const counts = noCounts()
  for (const one of [...lanes, orders]) for (const finding of FINDINGS) counts[finding] += one.counts[finding]
  const undecided = [...lanes.flatMap((lane) => lane.undecided), ...gone]
  const hash = createHash('sha256')
  for (const { lane, digest } of lanes) hash.update(`${lane} ${digest}\n`)
  const digest = hash.update(orders.digest).digest('hex')
  const isFound = FINDINGS.some((finding) => counts[finding] > 0)
  const result = isFound ? 'findings' : undecided.length > 0 ? 'undecided' : 'ok'
  const sum = (of: (lane: LaneReport) => number) => lanes.reduce((total, lane) => total + of(lane), 0)
  const judged = { events: sum((lane) => lane.events), messages: sum((lane) => lane.messages), orders: orders.orders }
  await finishAudit(pool, run.id, { result, digest, report: { counts, ...judged, undecided } })
  const findings = (await readAuditFindings(pool, run.id, FINDINGS_SHOWN_MAX)) as Finding[]
  const { id, sinceMs, untilMs } = run
  return { run: { id, sinceMs, untilMs }, result, digest, counts, ...judged, undecided, findings }
}
