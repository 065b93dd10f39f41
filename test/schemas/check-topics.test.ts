import { expect, test } from 'vitest'
import { topicProblems, type FoundTopic } from '../../src/schemas/check-topics.ts'
import { INPUT_TOPIC, RETENTION_MS, SHIPMENT_TOPIC, TOPICS, type TopicName } from '../../src/schemas/topics.ts'

const GOOD: FoundTopic = { partitions: 12, minInsyncReplicas: 2, retentionMs: -1, cleanupPolicy: 'delete' }
const topics = (changed: Partial<Record<TopicName, Partial<FoundTopic> | null>> = {}) =>
  new Map(
    TOPICS.filter((topic) => changed[topic] !== null).map((topic) => [`p.${topic}`, { ...GOOD, ...changed[topic] }]),
  )
const problems = (
  found: ReadonlyMap<string, FoundTopic>,
  more: { allowSingleReplica?: boolean; partitions?: number } = {},
) =>
  topicProblems(found, { topicPrefix: 'p.', allowSingleReplica: false, ...more }).map((p) => `${p.topic} ${p.problem}`)

test('good topics have no problem', () => {
  expect(problems(topics())).toEqual([])
  expect(problems(topics({ [INPUT_TOPIC]: { retentionMs: RETENTION_MS[INPUT_TOPIC] } }), { partitions: 12 })).toEqual(
    [],
  )
})

test('every problem is named at once', () => {
  const found = topics({
    [INPUT_TOPIC]: { cleanupPolicy: 'compact', retentionMs: 1_000 },
    [SHIPMENT_TOPIC]: { partitions: 6, minInsyncReplicas: 1 },
    'payments.anomaly.v1': null,
  })
  expect(problems(found)).toEqual([
    'p.payments.callback.v1 has cleanup.policy=compact, which can drop what is not applied yet',
    'p.payments.callback.v1 has retention.ms=1000',
    'p.fulfillment.shipment.v1 has 6 partitions, 12 are expected',
    'p.fulfillment.shipment.v1 has min.insync.replicas=1: one lost disk would lose what was acknowledged',
    'p.payments.anomaly.v1 does not exist',
  ])
})

test('the recorded count is what every topic is held against, the input too', () => {
  expect(problems(topics(), { partitions: 48 })).toHaveLength(TOPICS.length)
})

test('one replica is accepted only when it is allowed, an unreadable setting never', () => {
  const single = topics({ [INPUT_TOPIC]: { minInsyncReplicas: 1 } })
  expect(problems(single, { allowSingleReplica: true })).toEqual([])
  expect(problems(single)).toHaveLength(1)
  expect(problems(topics({ [INPUT_TOPIC]: { minInsyncReplicas: NaN } }))).toHaveLength(1)
})
