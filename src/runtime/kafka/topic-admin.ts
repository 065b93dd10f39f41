import type { Admin, ITopicConfig } from 'kafkajs'
import type { Log } from '../log.ts'
import { createAdminSession } from './admin-session.ts'
import { createClusterSession } from './cluster-session.ts'
import type { KafkaSettings } from './connection.ts'
import { ConfigResourceTypes } from './kafkajs.ts'
import { readTopicIds } from './topic-ids.ts'

export interface TopicSpec {
  readonly topic: string
  readonly partitions: number
  readonly replicationFactor: number
  readonly minInsyncReplicas: number
  readonly retentionMs: number
}

export interface TopicDescription {
  readonly topic: string
  readonly partitions: number
  readonly replicationFactor: number
  readonly minInsyncReplicas: number
  /** Milliseconds; -1 keeps records for ever. */
  readonly retentionMs: number
  readonly cleanupPolicy: string
  /** `producer` stores what a producer sends; our consumer reads uncompressed and gzip only. */
  readonly compressionType: string
}

export interface TopicAdmin {
  /** Creates what is missing and changes nothing that exists. Returns the names created. */
  readonly ensureTopics: (specs: readonly TopicSpec[]) => Promise<string[]>
  /** What the broker has; a topic that does not exist is absent from the map. */
  readonly describeTopics: (topics: readonly string[]) => Promise<Map<string, TopicDescription>>
  readonly deleteTopics: (topics: readonly string[]) => Promise<void>
  /** A cluster's own, unlike its brokers' addresses: one that was made anew has another. */
  readonly clusterId: () => Promise<string>
  /** As `OffsetReader.topicIds`. */
  readonly topicIds: (topics: readonly string[]) => Promise<ReadonlyMap<string, string>>
  /** Deletes groups that exist and have no member. */
  readonly deleteGroups: (groups: readonly string[]) => Promise<void>
  readonly close: () => Promise<void>
}

export function createTopicAdmin(settings: KafkaSettings, log: Log): TopicAdmin {
  const session = createAdminSession(settings, 'paidonce-topics', log)
  // It connects when it is first asked.
  const cluster = createClusterSession(settings, 'paidonce-topic-ids', log)
  return {
    ensureTopics: (specs) =>
      session.run('Creating topics', async (admin) => {
        const existing = new Set(await admin.listTopics())
        const missing = specs.filter(({ topic }) => !existing.has(topic))
        if (missing.length > 0)
          await admin.createTopics({ topics: missing.map(toConfig), waitForLeaders: true, timeout: 8_000 })
        return missing.map(({ topic }) => topic)
      }),
    describeTopics: (topics) => session.run('Describing topics', (admin) => describe(admin, topics)),
    deleteTopics: (topics) =>
      session.run('Deleting topics', async (admin) => {
        const existing = new Set(await admin.listTopics())
        const present = topics.filter((topic) => existing.has(topic))
        if (present.length > 0) await admin.deleteTopics({ topics: present, timeout: 8_000 })
      }),
    clusterId: () => session.run('Describing the cluster', async (admin) => (await admin.describeCluster()).clusterId),
    topicIds: (topics) => cluster.run('Reading the ids of topics', (raw) => readTopicIds(raw, topics)),
    deleteGroups: (groups) =>
      session.run('Deleting groups', async (admin) => {
        const existing = new Set((await admin.listGroups()).groups.map(({ groupId }) => groupId))
        const present = groups.filter((group) => existing.has(group))
        if (present.length > 0) await admin.deleteGroups(present)
      }),
    close: async () => {
      await session.close()
      await cluster.close()
    },
  }
}

function toConfig(spec: TopicSpec): ITopicConfig {
  return {
    topic: spec.topic,
    numPartitions: spec.partitions,
    replicationFactor: spec.replicationFactor,
    configEntries: Object.entries({
      // A compacted input would lose records that are not applied yet.
      'cleanup.policy': 'delete',
      'retention.ms': String(spec.retentionMs),
      'min.insync.replicas': String(spec.minInsyncReplicas),
      'unclean.leader.election.enable': 'false',
      // The broker rewrites what a foreign producer compressed with a codec that kafkajs cannot read.
      'compression.type': 'uncompressed',
    }).map(([name, value]) => ({ name, value })),
  }
}

async function describe(admin: Admin, topics: readonly string[]): Promise<Map<string, TopicDescription>> {
  const existing = new Set(await admin.listTopics())
  const present = topics.filter((topic) => existing.has(topic))
  const descriptions = new Map<string, TopicDescription>()
  if (present.length === 0) return descriptions
  const { topics: metadata } = await admin.fetchTopicMetadata({ topics: present })
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: present.map((name) => ({ type: ConfigResourceTypes.TOPIC, name })),
  })
  for (const { name, partitions } of metadata) {
    const entries = resources.find(({ resourceName }) => resourceName === name)?.configEntries ?? []
    const config = new Map(entries.map(({ configName, configValue }) => [configName, configValue]))
    descriptions.set(name, {
      topic: name,
      partitions: partitions.length,
      replicationFactor: Math.min(...partitions.map(({ replicas }) => replicas.length)),
      minInsyncReplicas: Number(config.get('min.insync.replicas')),
      retentionMs: Number(config.get('retention.ms')),
      cleanupPolicy: config.get('cleanup.policy') ?? '',
      compressionType: config.get('compression.type') ?? '',
    })
  }
  return descriptions
}
