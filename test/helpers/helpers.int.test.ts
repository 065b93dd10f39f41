import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@redis/client'
import { afterEach, expect, test, vi } from 'vitest'
import { compileTopics, javaFollow, type JavaRecord } from '../../dev/parts/java-topics.ts'
import { createDatabase } from './database.ts'
import { javaConsume, javaProduce } from './java-consumer.ts'
import { stackEnv } from './stack.ts'
import { ownRedis } from './redis.ts'
import { createTopics } from './topics.ts'
import { until } from './until.ts'
import { INPUT_TOPIC, SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'

afterEach(() => void vi.unstubAllEnvs())

test('databases are migrated, empty and apart', async () => {
  const [one, two] = await Promise.all([createDatabase(), createDatabase()])
  try {
    await one.pool.query(`insert into groups (merchant, group_key) values ('m', 'g')`)
    const { rows } = await two.pool.query<{ n: number }>('select count(*)::int as n from groups')
    expect(rows).toEqual([{ n: 0 }])
  } finally {
    await Promise.all([one.drop(), two.drop()])
  }
})

test("a redis-server of one's own can be frozen, killed and restarted, and then knows nothing", async () => {
  const redis = await ownRedis({ requirepass: 'p@ss' })
  const ask = async (command: 'get' | 'set') => {
    const client = createClient({ url: redis.url, socket: { reconnectStrategy: false } })
    client.on('error', () => undefined)
    await client.connect()
    const answer = await (command === 'get' ? client.get('k') : client.set('k', 'v'))
    client.destroy()
    return answer
  }
  try {
    expect(await ask('set')).toBe('OK')
    redis.freeze()
    const waiting = ask('get')
    redis.thaw()
    expect(await waiting).toBe('v')
    await redis.kill()
    await expect(ask('get')).rejects.toThrow('ECONNREFUSED')
    await redis.restart()
    expect(await ask('get')).toBeNull()
    redis.freeze()
  } finally {
    await redis.stop()
  }
  expect(redis.isAlive()).toBe(false)
})

test("records written by Kafka's Java producer come back from its consumer byte by byte", async () => {
  const topics = await createTopics({ partitions: 2 })
  try {
    const value = Buffer.from([0, 255, 10, 0, 128])
    const topic = topics.name(SHIPMENT_TOPIC)
    await javaProduce([
      { topic, partition: 1, key: '订单1', value, headers: { ce_type: 'x' } },
      { topic, partition: 1, key: null, value: null },
    ])
    const records = await javaConsume({ topics: [topic, topics.name(INPUT_TOPIC)], atLeast: 2 })
    expect(records).toEqual([
      expect.objectContaining({ topic, partition: 1, offset: 0, key: '订单1', value, headers: { ce_type: 'x' } }),
      expect.objectContaining({ topic, partition: 1, offset: 1, key: null, value: null, headers: {} }),
    ])
  } finally {
    await topics.drop()
  }
})

test('where the locale is not UTF-8, the reader compiles and its words are whole', async () => {
  vi.stubEnv('LC_ALL', 'C')
  const dir = mkdtempSync(join(tmpdir(), 'paidonce-topics-'))
  const topics = await createTopics({ partitions: 1 })
  const heard: JavaRecord[] = []
  try {
    await compileTopics(dir)
    const topic = topics.name(SHIPMENT_TOPIC)
    await javaProduce([{ topic, partition: 0, key: '订单1', value: null, headers: { ce_type: '付款' } }])
    const follower = await javaFollow(stackEnv().KAFKA_BROKERS, [topic], (record) => heard.push(record))
    await until('the record is heard', () => heard.length === 1)
    await follower.stop()
    expect(heard).toMatchObject([{ key: '订单1', headers: { ce_type: '付款' } }])
  } finally {
    rmSync(dir, { recursive: true })
    await topics.drop()
  }
})
