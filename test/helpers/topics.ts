import { randomBytes } from 'node:crypto'
import { createTopicAdmin, type TopicAdmin } from '../../src/runtime/kafka/topic-admin.ts'
import { createLog } from '../../src/runtime/log.ts'
import { registerSchemas } from '../../src/schemas/register.ts'
import { inputGroup, ledgerGroup, RETENTION_MS, TOPICS, type TopicName } from '../../src/schemas/topics.ts'
import { stackEnv } from './stack.ts'

export interface TestTopics {
  /** What `TOPIC_PREFIX` is set to. */
  readonly prefix: string
  /** What `APP_ID` is set to: groups and transactional ids of this test alone. */
  readonly appId: string
  readonly partitions: number
  readonly name: (topic: TopicName) => string
  /** Deletes the topics and groups; what of them is in use stays. */
  readonly drop: () => Promise<void>
}

/** All topics under a prefix of their own, with their schemas registered. */
export async function createTopics(
  options: { partitions?: number; replicas?: number; brokers?: string; registryUrl?: string } = {},
): Promise<TestTopics> {
  const { partitions = 3, replicas = 1 } = options
  const brokers = options.brokers ?? stackEnv().KAFKA_BROKERS
  const registryUrl = options.registryUrl ?? stackEnv().SCHEMA_REGISTRY_URL
  const appId = `t${Date.now().toString(36)}${randomBytes(3).toString('hex')}`
  const prefix = `${appId}.`
  const name = (topic: TopicName) => `${prefix}${topic}`
  const created = withAdmin(brokers, (admin) =>
    admin.ensureTopics(
      TOPICS.map((topic) => ({
        topic: name(topic),
        partitions,
        replicationFactor: replicas,
        minInsyncReplicas: Math.min(replicas, 2),
        retentionMs: RETENTION_MS[topic],
      })),
    ),
  )
  await Promise.all([created, registerSchemas(registryUrl, prefix)])
  return {
    ...{ prefix, appId, partitions, name },
    drop: () =>
      withAdmin(brokers, async (admin) => {
        await admin.deleteTopics(TOPICS.map(name)).catch(() => undefined)
        await admin.deleteGroups([inputGroup(appId), ledgerGroup(appId)]).catch(() => undefined)
      }),
  }
}

async function withAdmin<T>(brokers: string, work: (admin: TopicAdmin) => Promise<T>): Promise<T> {
  const admin = createTopicAdmin({ brokers: brokers.split(','), ssl: false }, createLog('test', 'silent'))
  try {
    return await work(admin)
  } finally {
    await admin.close()
  }
}
