import type { NewTimer } from '../store/write-batch.ts'
import type { LaneRecord } from './lane-types.ts'

/**
 * What providers are to be asked about: the hints of a batch whose orders are known. A hint is not proven, so that one
 * about an unknown order leaves nothing behind: else anybody could fill the tables.
 * @param namedOrders of records without facts, by offset
 */
export function queriesOf(
  records: readonly LaneRecord[],
  namedOrders: ReadonlyMap<number, number>,
  nowMs: number,
): NewTimer[] {
  if (namedOrders.size === 0) return []
  return records.flatMap(({ content, offset }): NewTimer[] => {
    const orderId = namedOrders.get(offset)
    if (content.kind !== 'noted' || content.callback.instead?.kind !== 'hint' || orderId === undefined) return []
    return [{ orderId, kind: 'query', ref: content.callback.instead.ref, dueAtMs: nowMs }]
  })
}
