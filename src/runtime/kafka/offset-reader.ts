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
  // One OffsetFetch, which the coordinator answers from one state.
  const committedAtOnce: OffsetReader['committedAtOnce'] = async (group, topics, partition) => {
    const answer = await session.run(`Reading the offsets of ${group}`, (admin) =>
      admin.fetchOffsets({ groupId: group, topics: [...topics] }),
    )
    const committed = new Map<string, { offset: number; metadata: string }>()
    for (const topic of topics) {
      const found = answer
        .find((entry) => entry.topic === topic)
        ?.partitions.find((entry) => entry.partition === partition)
      if (found === undefined) throw new Error(`Kafka knows no partition ${topic}-${partition}`)
      // -1 is the broker's "no offset".
      if (Number(found.offset) >= 0)
        committed.set(topic, { offset: Number(found.offset), metadata: found.metadata ?? '' })
    }
    return committed
  }
  return {
    committedAtOnce,
    committed: async (group, topic, partition) => (await committedAtOnce(group, [topic], partition)).get(topic),
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
