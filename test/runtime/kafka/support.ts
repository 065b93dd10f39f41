import { randomBytes } from 'node:crypto'
import { onTestFinished } from 'vitest'
import type { KafkaSettings } from '../../../src/runtime/kafka/connection.ts'
import { createFenceProducer } from '../../../src/runtime/kafka/fence-producer.ts'
import { createOffsetReader } from '../../../src/runtime/kafka/offset-reader.ts'
import { createPlainProducer } from '../../../src/runtime/kafka/plain-producer.ts'
import { createTopicAdmin } from '../../../src/runtime/kafka/topic-admin.ts'
import type { FenceProducer } from '../../../src/runtime/kafka/port.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { stackEnv } from '../../helpers/stack.ts'

export const settings = (): KafkaSettings => ({ brokers: stackEnv().KAFKA_BROKERS.split(','), ssl: false })
export const log = createLog('test', process.env['LOG_LEVEL'] ?? 'silent')
export const freshName = (what: string) => `${what}-${randomBytes(6).toString('hex')}`

/** A topic of this test alone, dropped after it. */
export async function freshTopic(partitions = 1): Promise<string> {
  const topic = freshName('kafka-test')
  const admin = createTopicAdmin(settings(), log)
  await admin.ensureTopics([{ topic, partitions, replicationFactor: 1, minInsyncReplicas: 1, retentionMs: 3_600_000 }])
  onTestFinished(async () => {
    await admin.deleteTopics([topic])
    await admin.close()
  })
  return topic
}

/** Fences like a lane; what it made is closed after the test. */
export function testFence(): FenceProducer {
  const { fence } = createFenceProducer(settings(), log)
  return async (transactionalId) => {
    const producer = await fence(transactionalId)
    onTestFinished(() => producer.close())
    return producer
  }
}

export async function testReader() {
  const reader = await createOffsetReader(settings(), log)
  onTestFinished(() => reader.close())
  return reader
}

export async function testProducer(...topics: readonly string[]) {
  const producer = await createPlainProducer(settings(), topics, log)
  onTestFinished(() => producer.close())
  return producer
}

export const values = (...texts: readonly string[]) => texts.map((text) => ({ key: text, value: Buffer.from(text) }))
