import { readFileSync } from 'node:fs'
import avro from 'avsc'
import type { NewEvent } from '../../src/orders/decision.ts'
import { ANOMALY_TOPIC, FULFILLMENT_TOPICS } from '../../src/schemas/topics.ts'
import { javaConsume } from '../helpers/java-consumer.ts'
import type { TestTopics } from '../helpers/topics.ts'

/** A message as a worker reads it. */
export interface Heard extends Omit<NewEvent, 'orderId' | 'receivedAtMs'> {
  readonly lane: number
  readonly laneSeq: number
  readonly partition: number
  readonly offset: number
  readonly key: string | null
  readonly ceId: string
}

const CONFLUENT_HEADER_BYTES = 5
const typeOf = (name: string) =>
  avro.Type.forSchema(
    JSON.parse(readFileSync(new URL(`../../src/schemas/${name}.avsc`, import.meta.url), 'utf8')) as avro.Schema,
  )
const [fulfillment, anomaly] = [typeOf('fulfillment'), typeOf('anomaly')]

/** All that was said to workers and about anomalies, as a read_committed consumer of Kafka's own client has it. */
export async function readTopics({ prefix }: TestTopics): Promise<Heard[]> {
  const topics = [...FULFILLMENT_TOPICS, ANOMALY_TOPIC].map((topic) => prefix + topic)
  const records = await javaConsume({ topics })
  return records.map(({ topic: named, partition, offset, key, headers, value }) => {
    if (value === null) throw new Error(`${named}-${partition}@${offset} has no value`)
    const topic = named.slice(prefix.length)
    const type = topic === ANOMALY_TOPIC ? anomaly : fulfillment
    const message = type.fromBuffer(value.subarray(CONFLUENT_HEADER_BYTES)) as Partial<Heard>
    const none = { sequence: null, amountMinor: null, currency: null, paymentRef: null, attrs: null }
    return { ...none, ...message, topic, partition, offset, key, ceId: headers['ce_id'] ?? '' } as Heard
  })
}
