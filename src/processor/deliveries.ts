import type { Delivery, DeliveryOutcome } from '../store/delivery.ts'
import type { Arrivals } from './arrivals.ts'
import type { LaneRecord } from './lane-types.ts'

/**
 * What the timeline shows: each fact of each record with what became of it, and records without facts.
 * @param namedOrders of records without facts, by offset
 */
export function deliveriesOf(
  records: readonly LaneRecord[],
  { all }: Arrivals,
  namedOrders: ReadonlyMap<number, number>,
): Delivery[] {
  const deliveries: Delivery[] = all.map(({ record, callback, fact, twin, orderId, outcome }) => {
    const isArchived = (twin ?? { outcome }).outcome === 'archived'
    return {
      offset: record.offset,
      recordTimeMs: record.timestampMs,
      orderId: isArchived ? null : ((twin ?? { orderId }).orderId ?? null),
      provider: callback.provider,
      source: callback.source,
      eventType: fact.eventType,
      providerRef: fact.providerRef,
      outcome: isArchived ? 'archived' : outcome,
      receivedAtMs: callback.receivedAtMs,
    }
  })
  for (const { content, offset, timestampMs } of records) {
    if (content.kind === 'callback') continue
    const callback = content.kind === 'skipped' ? undefined : content.callback
    deliveries.push({
      offset,
      recordTimeMs: timestampMs,
      orderId: namedOrders.get(offset) ?? null,
      provider: callback?.provider ?? null,
      source: callback?.source ?? null,
      eventType: null,
      providerRef: callback?.instead?.ref ?? null,
      outcome: content.kind,
      receivedAtMs: callback?.receivedAtMs ?? timestampMs,
    })
  }
  return deliveries
}

export function countOutcomes(deliveries: readonly Delivery[]): Partial<Record<DeliveryOutcome, number>> {
  const counts: Partial<Record<DeliveryOutcome, number>> = {}
  for (const { outcome } of deliveries) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}
