import { expect, onTestFinished, test } from 'vitest'
import { createTopicAdmin } from '../../../src/runtime/kafka/topic-admin.ts'
import { until } from '../../helpers/until.ts'
import { freshName, freshTopic, log, settings, testReader } from './support.ts'

test('a topic that was made anew under its name has another id; one that is not there has none', async () => {
  const [topic, other] = [await freshTopic(2), await freshTopic()]
  const admin = createTopicAdmin(settings(), log)
  onTestFinished(() => admin.close())
  const reader = await testReader()
  const missing = freshName('missing')
  const before = await reader.topicIds([topic, other, missing])
  expect([...before.keys()].sort()).toEqual([topic, other].sort())
  for (const id of before.values()) expect(id).toMatch(/^[\w-]{22}$/)
  expect(before.get(topic)).not.toBe(before.get(other))
  expect(await reader.topicIds([topic, other])).toEqual(before)

  await admin.deleteTopics([topic])
  await until('it is gone', async () => !(await reader.topicIds([topic])).has(topic))
  await admin.ensureTopics([{ topic, partitions: 2, replicationFactor: 1, minInsyncReplicas: 1, retentionMs: 60_000 }])
  const after = await until('it is back', async () => (await reader.topicIds([topic])).get(topic))
  expect(after).toMatch(/^[\w-]{22}$/)
  expect(after).not.toBe(before.get(topic))
})
