import type { Log } from '../log.ts'
import { createAdminSession } from './admin-session.ts'
import { createClusterSession } from './cluster-session.ts'
import type { KafkaSettings } from './connection.ts'
import type { OffsetReader } from './port.ts'
import { readTopicIds } from './topic-ids.ts'

/** @throws when no broker can be reached within about 20 s. */
export async function createOffsetReader(
  settings: KafkaSettings,
  log: Log,
): Promise<OffsetReader & { readonly close: () => Promise<void> }> {
  const session = createAdminSession(settings, 'paidonce-offsets', log)
  const cluster = createClusterSession(settings, 'paidonce-topic-ids', log)
  await session
    .run('Connecting to Kafka', () => Promise.resolve())
    .catch(async (error: unknown) => {
      await session.close()
      throw error
    })
  return {
    committed: async (group, topic, partition) => {
      const topics = await session.run(`Reading the offsets of ${group}`, (admin) =>
        admin.fetchOffsets({ groupId: group, topics: [topic] }),
      )
      const found = topics
        .find((entry) => entry.topic === topic)
        ?.partitions.find((entry) => entry.partition === partition)
      if (found === undefined) throw new Error(`Kafka knows no partition ${topic}-${partition}`)
      // -1 is the broker's "no offset".
      return Number(found.offset) < 0 ? undefined : { offset: Number(found.offset), metadata: found.metadata ?? '' }
    },
    logRange: async (topic, partition) => {
      const ranges = await session.run(`Reading the range of ${topic}`, (admin) => admin.fetchTopicOffsets(topic))
      const found = ranges.find((entry) => entry.partition === partition)
      if (found === undefined) throw new Error(`Kafka knows no partition ${topic}-${partition}`)
      return { start: Number(found.low), end: Number(found.high) }
    },
    topicIds: (topics) => cluster.run('Reading the ids of topics', (raw) => readTopicIds(raw, topics)),
    close: async () => {
      await session.close()
      await cluster.close()
    },
  }
}
