import { expect, test } from 'vitest'
import { sortProblems, type FoundTopic, type TopicProblem } from '../../src/schemas/check-topics.ts'
import { INPUT_TOPIC, RETENTION_MS, SHIPMENT_TOPIC, TOPICS, type TopicName } from '../../src/schemas/topics.ts'

const GOOD: FoundTopic = { partitions: 12, minInsyncReplicas: 2, retentionMs: -1, cleanupPolicy: 'delete' }
const topics = (changed: Partial<Record<TopicName, Partial<FoundTopic> | null>> = {}) =>
  new Map(
    TOPICS.filter((topic) => changed[topic] !== null).map((topic) => [`p.${topic}`, { ...GOOD, ...changed[topic] }]),
  )
type More = { readonly allowSingleReplica?: boolean; readonly partitions?: number }
const sorted = (found: ReadonlyMap<string, FoundTopic>, more: More = {}) =>
  sortProblems(found, { topicPrefix: 'p.', allowSingleReplica: false, ...more })
const said = (list: readonly TopicProblem[]) => list.map(({ topic, problem }) => `${topic} ${problem}`)
const problems = (...given: Parameters<typeof sorted>) => said(sorted(...given).wrong)

test('good topics have no problem', () => {
  expect(sorted(topics())).toEqual({ missing: [], wrong: [], partitions: 12 })
  expect(problems(topics({ [INPUT_TOPIC]: { retentionMs: RETENTION_MS[INPUT_TOPIC] } }), { partitions: 12 })).toEqual(
    [],
  )
})

test('every problem is named at once, what is missing apart from what is wrong', () => {
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
  ])
  expect(said(sorted(found).missing)).toEqual(['p.payments.anomaly.v1 does not exist'])
})

test('without the input, the others are still looked at', () => {
  const found = topics({ [INPUT_TOPIC]: null, [SHIPMENT_TOPIC]: { cleanupPolicy: 'compact' } })
  const { missing, wrong, partitions } = sorted(found)
  expect([said(missing), wrong.map(({ topic }) => topic), partitions]).toEqual([
    ['p.payments.callback.v1 does not exist'],
    ['p.fulfillment.shipment.v1'],
    undefined,
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
