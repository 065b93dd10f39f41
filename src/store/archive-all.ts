import type pg from 'pg'
import type { Clock } from '../runtime/clock.ts'
import { dayOf, monthOf } from '../runtime/days.ts'
import {
  archiveOrders,
  judgeOldOrders,
  ORDERS_PER_STEP,
  scanOldOrders,
  type KeptReason,
  type ReachArchive,
} from './archive-orders.ts'

export interface ArchiveOptions {
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly inputTopic: string
  readonly dryRun: boolean
  readonly isStopped: () => boolean
  /** ISO 8601 */
  readonly now: string
  /** The first day whose changes keep an order; undefined: nothing is archived. */
  readonly unchangedSince: string | undefined
  readonly budgetMs: number
  readonly afterId: number | undefined
  readonly reach: ReachArchive
}

export interface Archived {
  readonly orders: number
  /** Long still, and not finished. */
  readonly kept: Readonly<Partial<Record<KeptReason, number>>>
  /** Where the next run goes on; undefined: all that are old enough were looked at. */
  readonly nextAfterId: number | undefined
}

/** Goes through the old orders, oldest first, in small steps, for as long as it may. */
export async function archiveAll(client: pg.ClientBase, options: ArchiveOptions): Promise<Archived> {
  const { clock, inputTopic, dryRun, now, unchangedSince, budgetMs, reach } = options
  const kept: Partial<Record<KeptReason, number>> = {}
  let orders = 0
  let afterId = options.afterId
  if (unchangedSince === undefined) return { orders, kept, nextAfterId: undefined }
  const month = monthOf(dayOf(Date.parse(now)))
  const startedMs = clock.elapsedMs()
  for (;;) {
    const { ids, last } = await scanOldOrders(client, afterId ?? 0, unchangedSince)
    for (let at = 0; at < ids.length; at += ORDERS_PER_STEP) {
      const step = ids.slice(at, at + ORDERS_PER_STEP)
      const done = dryRun
        ? await judgeOldOrders(client, step, { inputTopic, unchangedSince })
        : await archiveOrders(client, { ids: step, unchangedSince, now, month, inputTopic }, reach)
      orders += 'archived' in done ? done.archived : done.finished.length
      for (const reason of done.kept) kept[reason] = (kept[reason] ?? 0) + 1
    }
    afterId = last
    if (last === undefined || options.isStopped() || clock.elapsedMs() - startedMs >= budgetMs)
      return { orders, kept, nextAfterId: afterId }
  }
}
