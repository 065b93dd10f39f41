import avro from 'avsc'
import type { JavaRecord } from '../../dev/parts/java-topics.ts'
import { createTopicAdmin } from '../../src/runtime/kafka/topic-admin.ts'
import { createLog } from '../../src/runtime/log.ts'
import { SCHEMAS } from '../../src/schemas/definitions.ts'
import { OUTPUT_TOPICS, RETENTION_MS, SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { javaConsume, javaProduce } from './java-consumer.ts'
import { stackEnv } from './stack.ts'
import type { TestTopics } from './topics.ts'

const fulfillment = avro.Type.forSchema(SCHEMAS[SHIPMENT_TOPIC])
const HEADER_BYTES = 5

export interface Fulfillment {
  eventId: string
  kind: string
  outTradeNo: string
  lane: number
  laneSeq: number
  amountMinor: number | null
}
export const fulfillmentOf = ({ value }: JavaRecord): Fulfillment =>
  fulfillment.fromBuffer((value ?? Buffer.alloc(0)).subarray(HEADER_BYTES)) as Fulfillment

/** The record with other content, by the same schema. */
export const withContent = (record: JavaRecord, change: Partial<Fulfillment>): JavaRecord => {
  const head = record.value?.subarray(0, HEADER_BYTES) ?? Buffer.alloc(0)
  return { ...record, value: Buffer.concat([head, fulfillment.toBuffer({ ...fulfillmentOf(record), ...change })]) }
}

/** Puts other topics in the place of the output topics: what they held, as `change` leaves it, in the order that it gives. */
export async function rewriteTopics(
  { prefix, partitions, name }: TestTopics,
  change: (records: readonly JavaRecord[]) => readonly JavaRecord[],
): Promise<void> {
  const topics = OUTPUT_TOPICS.map((topic) => name(topic))
  const records = await javaConsume({ topics })
  const admin = createTopicAdmin(
    { brokers: stackEnv().KAFKA_BROKERS.split(','), ssl: false },
    createLog('test', 'silent'),
  )
  try {
    await admin.deleteTopics(topics)
    const replicas = { replicationFactor: 1, minInsyncReplicas: 1 }
    await admin.ensureTopics(
      OUTPUT_TOPICS.map((topic) => ({
        topic: prefix + topic,
        partitions,
        ...replicas,
        retentionMs: RETENTION_MS[topic],
      })),
    )
  } finally {
    await admin.close()
  }
  await javaProduce(change(records))
}
