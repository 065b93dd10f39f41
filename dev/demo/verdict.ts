import { readFileSync } from 'node:fs'
import avro from 'avsc'
import { INVENTORY_TOPIC, POINTS_TOPIC, SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import type { Expected } from '../../src/simulator/expected.ts'
import type { JavaRecord } from '../parts/java-topics.ts'

/** An event as a worker sees it. */
export interface SeenEvent {
  /** Without the installation's prefix. */
  readonly topic: string
  readonly eventId: string
  readonly kind: string
  readonly merchant: string
  readonly outTradeNo: string
  readonly receivedAtMs: number | null
}

/** Computed from what the senders heard and what a worker sees; our tables have no say. */
export interface Verdict {
  /** Orders that were paid and have all their events. */
  readonly paid: number
  /** Events that should be there and are not. */
  readonly lost: readonly string[]
  /** Events that are there more than once. */
  readonly duplicated: readonly string[]
  /** Events of orders that were not rightly paid. */
  readonly phantom: readonly string[]
}

/** What a payment makes of an order; with the default routes, one event in each topic. */
const OF_A_PAYMENT = { [SHIPMENT_TOPIC]: 'ship', [INVENTORY_TOPIC]: 'deduct', [POINTS_TOPIC]: 'grant' }
const CONFLUENT_HEADER_BYTES = 5

const schema = readFileSync(new URL('../../src/schemas/fulfillment.avsc', import.meta.url), 'utf8')
const type = avro.Type.forSchema(JSON.parse(schema) as avro.Schema)

/** Decodes with the schema file alone, as somebody else's worker would. */
export function seenEvent(record: Pick<JavaRecord, 'topic' | 'value'>, prefix: string): SeenEvent {
  const decoded = type.fromBuffer((record.value ?? Buffer.alloc(0)).subarray(CONFLUENT_HEADER_BYTES)) as SeenEvent
  const { eventId, kind, merchant, outTradeNo, receivedAtMs } = decoded
  return { topic: record.topic.slice(prefix.length), eventId, kind, merchant, outTradeNo, receivedAtMs }
}

/** Holds what workers see against what must be there. */
export function judge(expected: Expected, seen: readonly SeenEvent[]): Verdict {
  const counts = new Map<string, number>()
  for (const { topic, kind, merchant, outTradeNo } of seen) {
    const name = `${topic} ${kind} ${merchant}/${outTradeNo}`
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const allowed = new Set([...expected.paid, ...expected.uncertain].flatMap(eventsOf))
  // The senders cannot tell whether an uncertain order was paid; one event says that it was, and then all must be there.
  const foundPaid = expected.uncertain.filter((order) => eventsOf(order).some((name) => counts.has(name)))
  const lostOf = [...expected.paid, ...foundPaid].map((order) => eventsOf(order).filter((name) => !counts.has(name)))
  return {
    paid: lostOf.filter((lost) => lost.length === 0).length,
    lost: lostOf.flat(),
    duplicated: [...counts].filter(([, count]) => count > 1).map(([name]) => name),
    phantom: [...counts.keys()].filter((name) => !allowed.has(name)),
  }
}

const eventsOf = ({ merchant, outTradeNo }: { merchant: string; outTradeNo: string }) =>
  Object.entries(OF_A_PAYMENT).map(([topic, kind]) => `${topic} ${kind} ${merchant}/${outTradeNo}`)

/** The smallest value that so many percent are not above; 0 of nothing. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.ceil((sorted.length * percent) / 100) - 1)] ?? 0)
}
