import type { DecideOptions, Decision, Item, OrderView } from './decision.ts'

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
  throw new Error(`Not built yet: ${views.size} views, ${items.length} items, ${options.heldLimitMs} ms`)
}
