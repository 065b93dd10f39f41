import { expect, test } from 'vitest'
import { judgeTopology } from '../../src/processor/judge-topology.ts'
import type { TopicDescription } from '../../src/runtime/kafka/topic-admin.ts'
import { INPUT_TOPIC, POINTS_TOPIC, TOPICS, type TopicName } from '../../src/schemas/topics.ts'

const topicsWith = (changed: Partial<Record<TopicName, Partial<TopicDescription>>> = {}, all = {}) =>
  new Map(
    TOPICS.map((topic) => [
      `x.${topic}`,
      {
        topic: `x.${topic}`,
        partitions: 12,
        replicationFactor: 3,
        minInsyncReplicas: 2,
        retentionMs: -1,
        cleanupPolicy: 'delete',
        compressionType: 'producer',
        ...all,
        ...changed[topic],
      },
    ]),
  )
const judge = (topics: ReadonlyMap<string, TopicDescription>, allowSingleReplica = false) =>
  judgeTopology({ prefix: 'x.', topics, allowSingleReplica })

test('equal counts, delete and two in-sync replicas are sound', () =>
  expect(judge(topicsWith())).toEqual({ kind: 'sound', partitions: 12, warnings: [] }))

test('a missing topic may still appear', () => {
  const topics = topicsWith()
  topics.delete(`x.${POINTS_TOPIC}`)
  expect(judge(topics)).toEqual({ kind: 'missing', topics: [`x.${POINTS_TOPIC}`] })
})

test.each([
  ['an output topic with other partitions', { [POINTS_TOPIC]: { partitions: 6 } }, 'has 6 partitions'],
  ['a compacted topic', { [INPUT_TOPIC]: { cleanupPolicy: 'compact' } }, 'cleanup.policy=delete'],
  ['one in-sync replica', { [INPUT_TOPIC]: { minInsyncReplicas: 1 } }, 'ALLOW_SINGLE_REPLICA=1'],
])('%s is wrong, and the remedy is named', (_, changed, remedy) => {
  const verdict = judge(topicsWith(changed))
  expect(verdict.kind).toBe('wrong')
  expect(JSON.stringify(verdict)).toContain(remedy)
})

test('one in-sync replica may be accepted', () =>
  expect(judge(topicsWith({}, { minInsyncReplicas: 1 }), true).kind).toBe('sound'))

test('a short retention is only warned of', () =>
  expect(judge(topicsWith({ [INPUT_TOPIC]: { retentionMs: 3_600_000 } }))).toMatchObject({
    kind: 'sound',
    warnings: [expect.stringContaining('shorter than')],
  }))
