import { expect, test } from 'vitest'
import { checkTopology } from '../../src/processor/check-topology.ts'
import type { TopicDescription } from '../../src/runtime/kafka/topic-admin.ts'
import type { Queryable } from '../../src/runtime/postgres.ts'
import { INPUT_TOPIC, SHIPMENT_TOPIC, TOPICS } from '../../src/schemas/topics.ts'

const unasked = { query: () => Promise.reject(new Error('Postgres is not asked')) } as unknown as Queryable
const check = (changed: Readonly<Record<string, Partial<TopicDescription> | null>>) => {
  const good = { partitions: 3, replicationFactor: 3, minInsyncReplicas: 2, retentionMs: -1, cleanupPolicy: 'delete' }
  const found = new Map(
    TOPICS.filter((topic) => changed[topic] !== null).map((topic) => [
      `p.${topic}`,
      { topic: `p.${topic}`, ...good, compressionType: 'uncompressed', ...changed[topic] },
    ]),
  )
  const admin = { describeTopics: () => Promise.resolve(found) }
  return checkTopology(admin, unasked, { appId: 'paidonce', topicPrefix: 'p.', allowSingleReplica: false })
}

test('what is wrong ends the process, also while another topic is missing', async () => {
  for (const missing of [INPUT_TOPIC, 'payments.anomaly.v1'])
    await expect(check({ [missing]: null, [SHIPMENT_TOPIC]: { cleanupPolicy: 'compact' } })).rejects.toMatchObject({
      name: 'WrongTopology',
      message: expect.stringMatching(/^p\.fulfillment\.shipment\.v1 has cleanup\.policy=compact.*$/) as string,
    })
})

test('what is only missing is named, to be waited for', async () => {
  await expect(check({ [SHIPMENT_TOPIC]: null, 'payments.anomaly.v1': null })).rejects.toMatchObject({
    name: 'MissingTopics',
    message:
      'p.fulfillment.shipment.v1 does not exist: run paidonce topics create\n' +
      'p.payments.anomaly.v1 does not exist: run paidonce topics create',
  })
})
