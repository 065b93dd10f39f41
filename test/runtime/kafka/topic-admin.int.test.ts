import { expect, onTestFinished, test } from 'vitest'
import { createAdminSession } from '../../../src/runtime/kafka/admin-session.ts'
import { createTopicAdmin } from '../../../src/runtime/kafka/topic-admin.ts'
import { freshName, freshTopic, log, settings, testReader } from './support.ts'

const spec = { partitions: 2, replicationFactor: 1, minInsyncReplicas: 1, retentionMs: 3_600_000 }

test('creates what is missing, describes what is there, changes nothing that exists', async () => {
  const [one, two] = [freshName('admin'), freshName('admin')]
  const admin = createTopicAdmin(settings(), log)
  onTestFinished(async () => {
    await admin.deleteTopics([one, two, freshName('never-made')])
    await admin.close()
  })
  expect(await admin.ensureTopics([{ ...spec, topic: one }])).toEqual([one])
  expect(
    await admin.ensureTopics([
      { ...spec, topic: one, partitions: 7 },
      { ...spec, topic: two },
    ]),
  ).toEqual([two])
  const described = await admin.describeTopics([one, two, 'no-such-topic'])
  expect([...described.keys()].sort()).toEqual([one, two].sort())
  expect(described.get(one)).toEqual({
    topic: one,
    partitions: 2,
    replicationFactor: 1,
    minInsyncReplicas: 1,
    retentionMs: 3_600_000,
    cleanupPolicy: 'delete',
    compressionType: 'uncompressed',
  })
})

test('a wrong setting is refused at once, not tried for 20 s', async () => {
  const admin = createTopicAdmin(settings(), log)
  onTestFinished(() => admin.close())
  const startedMs = performance.now()
  await expect(admin.ensureTopics([{ ...spec, topic: freshName('admin'), replicationFactor: 99 }])).rejects.toThrow()
  expect(performance.now() - startedMs).toBeLessThan(5_000)
})

test('a group without offsets and a partition that does not exist are told apart', async () => {
  const topic = await freshTopic()
  const reader = await testReader()
  expect(await reader.committed(freshName('group'), topic, 0)).toBeUndefined()
  await expect(reader.committed(freshName('group'), topic, 9)).rejects.toThrow(`Kafka knows no partition ${topic}-9`)
  await expect(reader.logRange(topic, 9)).rejects.toThrow(`Kafka knows no partition ${topic}-9`)
  expect(await reader.logRange(topic, 0)).toEqual({ start: 0, end: 0 })
})

test('no broker: tries again until the deadline, then says why', async () => {
  const session = createAdminSession({ brokers: ['127.0.0.1:1'], ssl: false }, 'test', log, 1_000)
  onTestFinished(() => session.close())
  await expect(session.run('Connecting', () => Promise.resolve())).rejects.toThrow('ECONNREFUSED')
})
