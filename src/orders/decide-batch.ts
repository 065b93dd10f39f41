import { collect } from './collect.ts'
import { decideItem } from './decide-item.ts'
import type { DecideOptions, Decision, Item, Outcome, OrderView } from './decision.ts'
import { releaseHeld } from './settle-fact.ts'
import { openWork, type BatchWork, type OrderWork } from './work.ts'

/**
 * Decides a batch of one lane, purely: the same views and items always give the same decision, and nothing given is
 * changed. Each order's held facts come first, in event-time order, then its items in theirs.
 * @param views one per order that an item names, read under the orders' locks; a missing one throws
 */
export function decideBatch(
  views: ReadonlyMap<number, OrderView>,
  items: readonly Item[],
  options: DecideOptions,
): Decision {
  const batch: BatchWork = {
    options,
    nowMs: options.now.getTime(),
    orders: new Map(),
    groups: new Map(),
    events: [],
  }
  const outcomes: Outcome[] = items.map((item) => {
    const work = workOf(batch, views, item.orderId)
    // What Postgres refused once is not tried again in the same breath.
    if (item.kind !== 'unprocessable') releaseHeld(work)
    return decideItem(work, item)
  })
  return collect(batch, outcomes)
}

function workOf(batch: BatchWork, views: ReadonlyMap<number, OrderView>, orderId: number): OrderWork {
  const known = batch.orders.get(orderId)
  if (known !== undefined) return known
  const view = views.get(orderId)
  if (view === undefined) throw new Error(`Order ${orderId} is in the batch but was not read.`)
  const work = openWork(batch, view)
  batch.orders.set(orderId, work)
  return work
}
