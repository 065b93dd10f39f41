import { replayOf } from '../schemas/headers.ts'
import type { Delivery, DeliveryOutcome } from '../store/delivery.ts'
import type { Arrivals } from './arrivals.ts'
import type { LaneRecord } from './lane-types.ts'

const DAY_MS = 86_400_000

/**
 * What the timeline shows: each fact of each record with what became of it, and records without facts.
 * @param namedOrders of records without facts, by offset
 * @param nowMs a record's time chooses the day's partition: a clock that is ahead of ours must not reach days that are
 *   still being made
 */
export function deliveriesOf(
  records: readonly LaneRecord[],
  { all }: Arrivals,
  namedOrders: ReadonlyMap<number, number>,
  nowMs: number,
): Delivery[] {
  const timeOf = ({ timestampMs }: LaneRecord) => Math.min(timestampMs, nowMs + DAY_MS)
  const deliveries: Delivery[] = all.map(({ record, callback, fact, twin, orderId, outcome }) => {
    const isArchived = (twin ?? { outcome }).outcome === 'archived'
    const replayId = replayIdOf(record)
    return {
      offset: record.offset,
      recordTimeMs: timeOf(record),
      orderId: (twin ?? { orderId }).orderId ?? null,
      provider: callback.provider,
      source: replayId === null ? callback.source : 'replay',
      eventType: fact.eventType,
      providerRef: fact.providerRef,
      outcome: isArchived ? 'archived' : outcome,
      receivedAtMs: callback.receivedAtMs,
      replayId,
    }
  })
  for (const record of records) {
    const { content, offset, timestampMs } = record
    if (content.kind === 'callback') continue
    const callback = content.kind === 'skipped' ? undefined : content.callback
    const replayId = replayIdOf(record)
    deliveries.push({
      offset,
      recordTimeMs: timeOf(record),
      orderId: namedOrders.get(offset) ?? null,
      provider: callback?.provider ?? null,
      source: replayId === null ? (callback?.source ?? null) : 'replay',
      eventType: null,
      providerRef: callback?.instead?.ref ?? null,
      outcome: content.kind,
      receivedAtMs: callback?.receivedAtMs ?? timestampMs,
      replayId,
    })
  }
  return deliveries
}

const replayIdOf = ({ headers }: LaneRecord) => replayOf(headers)?.id ?? null

export function countOutcomes(deliveries: readonly Delivery[]): Partial<Record<DeliveryOutcome, number>> {
  const counts: Partial<Record<DeliveryOutcome, number>> = {}
  for (const { outcome } of deliveries) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}
