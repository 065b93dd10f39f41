import type { JavaRecord } from '../../../dev/parts/java-topics.ts'
import { INVENTORY_TOPIC, POINTS_TOPIC, SHIPMENT_TOPIC, type TopicName } from '../../../src/schemas/topics.ts'
import { fulfillmentOf, rewriteTopics, withContent } from '../../helpers/rewrite-topics.ts'
import type { TestTopics } from '../../helpers/topics.ts'

/** Which order's event is damaged, and how. */
export interface Seeds {
  readonly missing: string
  readonly twice: string
  readonly dearer: string
  readonly forged: string
  readonly late: string
}

const FORGED_ID = '00000000-0000-5000-8000-000000000000'

/** What an audit must name of each: finding, event id, order, topic. */
export type Named = readonly [finding: string, eventId: string, outTradeNo: string, topic: string]

/**
 * Damages what was emitted: an event is taken away, one is there twice, one has another amount, one is forged beside the
 * true one, one stands behind later ones. No processor may run. @returns sorted
 */
export async function seedFaults(topics: TestTopics, orders: Seeds): Promise<Named[]> {
  const named: Named[] = []
  await rewriteTopics(topics, (records) => {
    const of = (finding: string, topic: TopicName, order: string) => {
      const found = records.find(
        (record) => record.topic.endsWith(topic) && record.key === order && fulfillmentOf(record).kind !== 'refund',
      )
      if (found === undefined) throw new Error(`no event of ${order} in ${topic}`)
      named.push([finding, finding === 'extra' ? FORGED_ID : fulfillmentOf(found).eventId, order, topic])
      return found
    }
    const missing = of('missing', SHIPMENT_TOPIC, orders.missing)
    const twice = of('duplicate', INVENTORY_TOPIC, orders.twice)
    const dearer = of('amount_mismatch', POINTS_TOPIC, orders.dearer)
    const forged = of('extra', SHIPMENT_TOPIC, orders.forged)
    const late = of('late', INVENTORY_TOPIC, orders.late)
    const forgery: JavaRecord = withContent(forged, { eventId: FORGED_ID, laneSeq: 1_000_000 })
    return [
      ...records.flatMap((record) => {
        if (record === missing || record === late) return []
        if (record === dearer) return [withContent(record, { amountMinor: 9_900 })]
        return record === forged ? [record, forgery] : [record]
      }),
      late,
      twice,
    ]
  })
  return named.sort()
}
