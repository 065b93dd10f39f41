import { APPLIED, NOTED, type DecideFact } from './cell.ts'
import { emit } from './emit.ts'
import type { FactKind } from './model.ts'
import type { OrderWork } from './work.ts'

/** Goods that were shipped are back: their stock is restored, once for each time that the order was shipped. */
export const returnGoods: DecideFact = (work, { trigger }) => {
  // Not what was refunded before it was shipped: its cancel restored the stock.
  if (appliedCount(work, 'goods_returned') >= appliedCount(work, 'shipment_completed')) return NOTED
  emit(work, 'restore', trigger)
  return APPLIED
}

function appliedCount(work: OrderWork, kind: FactKind): number {
  let count = 0
  for (const { fact, outcome } of work.facts.values()) if (fact.eventType === kind && outcome === 'applied') count += 1
  return count
}
