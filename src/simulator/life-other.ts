import type { FactKind } from '../orders/model.ts'
import { causeOf, close, emit, raise, type End, type Life, type LifeFact } from './life-state.ts'

/** What is neither a payment nor a refund that succeeded. @returns whether it changed the order, or its stock */
export function tellOther(life: Life, fact: LifeFact): boolean {
  const { status } = life
  const anomalyOf: Partial<Record<FactKind, Partial<Record<End['status'], string>>>> = {
    provider_closed: { paid: 'closed_after_payment' },
    shipment_completed: { pending: 'shipped_unpaid', closed: 'shipped_closed', refunded: 'shipped_refunded' },
    fulfillment_failed: { paid: 'fulfillment_failed', shipped: 'fulfillment_failed' },
  }
  const anomaly =
    fact.eventType === 'refund_failed' || fact.eventType === 'disputed' || fact.eventType === 'bill_differs'
      ? fact.eventType
      : anomalyOf[fact.eventType]?.[status]
  if (anomaly !== undefined) raise(life, anomaly, causeOf(fact))
  if (fact.eventType === 'provider_closed' && status === 'pending') close(life)
  if (fact.eventType === 'shipment_completed' && status === 'paid') {
    life.status = 'shipped'
    return true
  }
  if (fact.eventType !== 'goods_returned' || (status !== 'shipped' && status !== 'refunded')) return false
  const times = (kind: FactKind) =>
    [...life.facts.values()].filter(({ fact: { eventType }, applied }) => applied && eventType === kind).length
  const isNew = times('goods_returned') < times('shipment_completed')
  if (isNew) emit(life, 'restore')
  return isNew
}
