import { readFileSync } from 'node:fs'
import avro from 'avsc'
import type { JavaRecord } from '../../dev/parts/java-topics.ts'
import { INVENTORY_TOPIC, POINTS_TOPIC, SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { javaConsume } from './java-consumer.ts'
import type { TestTopics } from './topics.ts'

/** What a worker sees of one event. */
export interface SeenEvent {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly key: string | null
  readonly merchant: string
  readonly ceId: string
  readonly kind: string
  readonly sequence: number
  readonly laneSeq: number
  readonly payload: string | null
}

export interface Findings {
  /** `kind outTradeNo` of events that should be there and are not. */
  readonly lost: readonly string[]
  readonly duplicated: readonly string[]
  /** Events of orders that were not paid. */
  readonly phantom: readonly string[]
  /** Events of a partition that are not in the order in which their callbacks came, or in the order of their numbers. */
  readonly disordered: readonly string[]
  readonly events: number
}

const EXPECTED = { [SHIPMENT_TOPIC]: 'ship', [INVENTORY_TOPIC]: 'deduct', [POINTS_TOPIC]: 'grant' } as const
const CONFLUENT_HEADER_BYTES = 5

const schema = readFileSync(new URL('../../src/schemas/fulfillment.avsc', import.meta.url), 'utf8')
const type = avro.Type.forSchema(JSON.parse(schema) as avro.Schema)

/** Reads the fulfillment topics as a read_committed Java consumer sees them. */
export async function readEvents(topics: TestTopics, options: { atLeast?: number; brokers?: string } = {}) {
  const records = await javaConsume({ topics: Object.keys(EXPECTED).map((topic) => topics.prefix + topic), ...options })
  return records.map((record) => eventOf(record, topics.prefix))
}

function eventOf({ topic, partition, offset, key, headers, value }: JavaRecord, prefix: string): SeenEvent {
  if (value === null) throw new Error(`${topic}-${partition}@${offset} has no value`)
  const decoded = type.fromBuffer(value.subarray(CONFLUENT_HEADER_BYTES)) as Omit<SeenEvent, 'key'>
  const { merchant, kind, sequence, laneSeq, payload } = decoded
  const ceId = headers['ce_id'] ?? ''
  return { topic: topic.slice(prefix.length), partition, offset, key, merchant, ceId, kind, sequence, laneSeq, payload }
}

/**
 * Compares what was sent with what workers see; knows nothing of our tables.
 * @param paid orders that were created and paid rightly, in the order of their first payment per lane
 * @param options.inOrder false where callbacks came before their orders, so that events may come later
 */
export function checkExactlyOnce(
  paid: readonly string[],
  seen: readonly SeenEvent[],
  options: { inOrder?: boolean } = {},
): Findings {
  const place = new Map(paid.map((order, index) => [order, index]))
  const counts = new Map<string, number>()
  const phantom: string[] = []
  const disordered: string[] = []
  const last = new Map<string, SeenEvent>()
  for (const event of [...seen].sort((a, b) => a.partition - b.partition || a.offset - b.offset)) {
    const { topic, kind, key, partition } = event
    const name = `${kind} ${key}`
    if (EXPECTED[topic as keyof typeof EXPECTED] !== kind || key === null || !place.has(key)) phantom.push(name)
    counts.set(name, (counts.get(name) ?? 0) + 1)
    const before = last.get(`${topic}/${partition}`)
    last.set(`${topic}/${partition}`, event)
    if (before === undefined || before.ceId === event.ceId) continue
    const isLater = (place.get(key ?? '') ?? -1) > (place.get(before.key ?? '') ?? -1)
    if (event.laneSeq <= before.laneSeq || (options.inOrder !== false && !isLater)) disordered.push(name)
  }
  const expected = paid.flatMap((order) => Object.values(EXPECTED).map((kind) => `${kind} ${order}`))
  return {
    lost: expected.filter((name) => !counts.has(name)),
    duplicated: [...counts].filter(([, count]) => count > 1).map(([name]) => name),
    phantom,
    disordered,
    events: seen.length,
  }
}

/** What a run without fault comes to. */
export const nothingWrong = (paid: readonly string[]): Findings => ({
  lost: [],
  duplicated: [],
  phantom: [],
  disordered: [],
  events: 3 * new Set(paid).size,
})
