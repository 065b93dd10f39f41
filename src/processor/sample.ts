import type { LastAudit } from '../store/audit-runs.ts'
import type { BillGauges } from '../store/bill-runs.ts'
import type { Backlog } from '../store/read-backlog.ts'
import type { LaneView } from './lane.ts'
import type { Metrics } from './metrics.ts'

/** Sets the gauges of this process's lanes; gauges of lanes that are gone disappear. */
export function sampleLanes(metrics: Metrics, lanes: readonly LaneView[], sincePollMs: number): void {
  for (const gauge of [metrics.laneNext, metrics.laneLedger, metrics.laneLag, metrics.lanesHalted]) gauge.reset()
  metrics.lanesOwned.set(lanes.length)
  metrics.sincePoll.set(sincePollMs / 1_000)
  for (const { lane, next, ledger, lag, haltReason } of lanes) {
    if (next !== undefined) metrics.laneNext.set({ lane }, next)
    if (ledger !== undefined) metrics.laneLedger.set({ lane }, ledger)
    metrics.laneLag.set({ lane }, lag)
    if (haltReason !== undefined) metrics.lanesHalted.inc({ reason: haltReason })
  }
}

/** Sets the gauges that only Postgres knows. */
export function sampleBacklog(metrics: Metrics, lanes: readonly LaneView[], backlog: Backlog): void {
  metrics.heldFacts.set(backlog.heldFacts)
  metrics.heldOldestAge.set(backlog.heldOldestSec)
  for (const gauge of [metrics.anomaliesOpen, metrics.anomaliesOldestAge, metrics.anomaliesClaimed]) gauge.reset()
  for (const { kind, open, claimed, oldestSec } of backlog.anomalies) {
    metrics.anomaliesOpen.set({ kind }, open)
    metrics.anomaliesClaimed.set({ kind }, claimed)
    metrics.anomaliesOldestAge.set({ kind }, oldestSec)
  }
  metrics.deadLettersOpen.reset()
  for (const [reason, count] of Object.entries(backlog.deadLettersByReason))
    metrics.deadLettersOpen.set({ reason }, count)
  metrics.deadLettersOldestAge.set(backlog.deadLettersOldestSec)
  metrics.replaysOpen.set(backlog.replaysOpen)
  metrics.replaysOldestAge.set(backlog.replaysOldestSec)
  metrics.lanesSuspect.set(backlog.lanesSuspect)
  metrics.queriesFiled.set(backlog.queriesFiled)
  metrics.queriesOldestAge.set(backlog.queriesOldestSec)
  metrics.brakes.set({ state: 'set' }, backlog.brakes.set)
  metrics.brakes.set({ state: 'releasing' }, backlog.brakes.releasing)
  metrics.waitingEvents.set(backlog.waitingEvents)
  metrics.waitingOldestAge.set(backlog.waitingOldestSec)
  metrics.unemittedAge.reset()
  for (const { lane, ledger } of lanes)
    if (ledger !== undefined) metrics.unemittedAge.set({ lane }, backlog.unemittedSecByLane.get(lane) ?? 0)
}

const AUDIT_FINDINGS = ['missing', 'duplicate', 'amount_mismatch', 'extra', 'late'] as const

/** What the last audit came to; before the first there is none. */
export function sampleAudit(metrics: Metrics, last: LastAudit | undefined): void {
  if (last === undefined) return
  for (const finding of AUDIT_FINDINGS) metrics.auditFindings.set({ finding }, last.findings[finding] ?? 0)
  metrics.auditAge.set(last.ageSec)
  metrics.auditUndecided.set(last.isUndecided ? 1 : 0)
}

/** What imported bills came to; before the first there is nothing. */
export function sampleBills(metrics: Metrics, { findings, unconfirmed, undecided, ageSec }: BillGauges): void {
  metrics.billFindings.reset()
  for (const [finding, count] of Object.entries(findings)) metrics.billFindings.set({ finding }, count)
  metrics.billUnconfirmed.set(unconfirmed)
  metrics.billUndecided.set(undecided)
  if (ageSec !== null) metrics.billAge.set(ageSec)
}
