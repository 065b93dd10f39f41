import type pg from 'pg'
import type { Clock } from '../runtime/clock.ts'
import { describeError, type Log } from '../runtime/log.ts'
import { KEPT_REASONS } from '../store/archive-orders.ts'
import { SKEW_MS_MAX } from '../store/check-clock.ts'
import { REMOVED } from '../store/remove-aged.ts'
import { maintain, type GrowthLimits } from '../store/maintain.ts'
import { isFinding } from '../store/maintain-partitions.ts'
import { readGrowth } from '../store/read-growth.ts'
import type { Metrics } from './metrics.ts'

/** Of one run, for archiving and then for removing; what is left is for the next. */
const BUDGET_MS = 10_000
const DAY_MS = 86_400_000

export interface MaintenanceParts {
  readonly pool: pg.Pool
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
  readonly inputTopic: string
  readonly limits: GrowthLimits
  readonly isStopped: () => boolean
}

/** This process's share in keeping the tables small. Every process tries; one at a time does it. */
export function createMaintenance({ pool, clock, metrics, log, inputTopic, limits, isStopped }: MaintenanceParts) {
  let archiveAfterId: number | undefined
  let kept: Partial<Record<string, number>> = {}

  const run = async (limits: GrowthLimits) => {
    const options = {
      clock,
      inputTopic,
      limits,
      isStopped,
      budgetMs: BUDGET_MS,
      archiveAfterId,
      skewMsMax: SKEW_MS_MAX,
    }
    const done = await maintain(pool, options)
    metrics.maintenanceRuns.inc({ outcome: done.kind })
    if (done.kind === 'busy') return
    const findings = done.work.filter(isFinding)
    metrics.maintenanceFindings.set(findings.length)
    for (const work of done.work) log[isFinding(work) ? 'warn' : 'info']({ ...work }, 'partition')
    const { orders, nextAfterId } = done.archived
    metrics.archivedOrders.inc(orders)
    if (orders > 0) log.info({ orders }, 'finished orders archived')
    for (const kind of REMOVED) metrics.removedRows.inc({ table: kind }, done.removed[kind])
    metrics.maintenanceSucceededAt.set(clock.now().getTime() / 1_000)
    for (const [reason, count] of Object.entries(done.archived.kept)) kept[reason] = (kept[reason] ?? 0) + count
    archiveAfterId = nextAfterId
    if (nextAfterId !== undefined) return
    // A whole pass over the old orders is done.
    for (const reason of KEPT_REASONS) metrics.archiveKept.set({ reason }, kept[reason] ?? 0)
    kept = {}
  }

  const sample = async () => {
    const nowMs = clock.now().getTime()
    const oldBefore = limits.archiveAfterDays === 0 ? undefined : nowMs - limits.archiveAfterDays * DAY_MS
    const growth = await readGrowth(pool, nowMs, oldBefore)
    for (const [table, bytes] of growth.bytes) metrics.tableBytes.set({ table }, bytes)
    for (const [table, { count, oldestSec, aheadSec, restBytes }] of growth.partitioned) {
      metrics.partitions.set({ table }, count)
      metrics.partitionOldestAge.set({ table }, oldestSec)
      metrics.partitionsAhead.set({ table }, aheadSec)
      metrics.partitionRestBytes.set({ table }, restBytes)
    }
    metrics.ordersOldestAge.set(growth.oldestOrderSec)
    metrics.archiveBacklog.set(growth.oldOrders)
  }

  return {
    /** Before the first record, so that it finds its day's partition. Never rejects. */
    prepare: async () => {
      const failed = (error: unknown) => log.warn({ error: describeError(error) }, 'no partitions made at the start')
      await run({ ...limits, archiveAfterDays: 0, settledDays: 0, commandsDays: 0 })
        .then(sample)
        .catch(failed)
    },
    run: async () => {
      await run(limits).catch((error: unknown) => {
        metrics.maintenanceRuns.inc({ outcome: 'failed' })
        throw error
      })
      await sample()
    },
  }
}
