import type pg from 'pg'
import type { Clock } from '../runtime/clock.ts'
import { adoptQueries, fileQueries, scanHeld, scanPending, type Unasked } from '../store/file-queries.ts'
import type { QueryReach } from './crash-points.ts'
import type { QueryMetrics } from './metrics.ts'
import { firstDue, heldDue, type Schedule } from './schedule.ts'

export interface FileDeps {
  readonly pool: pg.Pool
  readonly merchants: () => readonly string[]
  readonly schedule: Schedule
  /** How often it looks. */
  readonly everyMs: number
  /** How long before its limit a held fact is asked about. */
  readonly heldBeforeMs: number
  readonly clock: Clock
  readonly metrics: Pick<QueryMetrics, 'filed'>
  readonly reach: QueryReach
  readonly random?: () => number
}

/** From the first pending order again: for what a sweep cannot have seen (a commit that took long, a restored backup). */
const ANEW_MS = 3_600_000

/**
 * Files a question for each pending order that is old enough to have heard something, and for each fact that is near its
 * limit. Creating an order files none: nearly all are paid within the first minute, and cost nothing here. Where it is
 * it keeps in memory alone: after a start it sweeps all that is pending, and what is filed already stays as it is.
 */
export function createFiler(deps: FileDeps): () => Promise<void> {
  const { pool, schedule, clock, metrics, reach, random = Math.random } = deps
  let after = 0
  let anewAtMs = 0
  let known: ReadonlySet<string> = new Set()

  const file = async (about: 'pending' | 'held', found: readonly Unasked[], dueOf: (order: Unasked) => number) => {
    await reach('query_scanned')
    if (found.length === 0) return
    const filed = await fileQueries(
      pool,
      found.map((order) => ({ ...order, dueAtMs: dueOf(order) })),
    )
    metrics.filed.inc({ about }, filed)
    await reach('query_filed')
  }

  return async () => {
    const merchants = deps.merchants()
    const nowMs = clock.now().getTime()
    // Of a merchant that is new here, all that is pending is behind.
    const isNew = merchants.some((merchant) => !known.has(merchant))
    known = new Set(merchants)
    if (isNew || clock.elapsedMs() >= anewAtMs) {
      after = 0
      anewAtMs = clock.elapsedMs() + ANEW_MS
    }
    const youngestMs = nowMs - Math.max(0, schedule.firstMs - 2 * deps.everyMs)
    for (let isEnd = false; !isEnd;) {
      const scanned = await scanPending(pool, { after, youngestMs, merchants })
      await file('pending', scanned.found, (order) => firstDue(schedule, order, nowMs, random()))
      after = scanned.last
      isEnd = scanned.isEnd
    }
    const held = await scanHeld(pool, { nowMs, beforeMs: nowMs + deps.heldBeforeMs, merchants })
    await file('held', held, () => heldDue(schedule, nowMs, random()))
    metrics.filed.inc({ about: 'hint' }, await adoptQueries(pool))
  }
}
