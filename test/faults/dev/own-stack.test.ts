import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Stack } from '../../../dev/parts/stack.ts'
import { aliveBrokers } from '../../../dev/parts/kafka-ready.ts'
import { createDatabase } from '../../helpers/database.ts'
import { javaConsume, javaProduce } from '../../helpers/java-consumer.ts'
import { ownStack } from '../../helpers/own-stack.ts'
import { createTopics } from '../../helpers/topics.ts'
import { INPUT_TOPIC } from '../../../src/schemas/topics.ts'

let stack: Stack
beforeAll(async () => void (stack = await ownStack({ kafkaNodes: 3, registryInMemory: true })))
afterAll(() => stack.stop())

test('three brokers: one frozen, one killed and started again; acknowledged records stay', async () => {
  const { brokers, nodes } = stack.kafka
  const topics = await createTopics({ brokers, registryUrl: stack.registry.url, replicas: 3, partitions: 3 })
  const topic = topics.name(INPUT_TOPIC)
  const value = Buffer.from('x')
  nodes[2]?.freeze()
  await javaProduce(
    [0, 1, 2].map((partition) => ({ topic, partition, key: 'a', value })),
    brokers,
  )
  nodes[2]?.thaw()
  await nodes[0]?.kill()
  expect(nodes[0]?.isAlive()).toBe(false)
  await nodes[0]?.restart()
  expect(await aliveBrokers(Number(brokers.split(',')[0]?.split(':')[1]), 5_000)).toBeGreaterThanOrEqual(2)
  await javaProduce(
    [0, 1, 2].map((partition) => ({ topic, partition, key: 'b', value })),
    brokers,
  )
  const records = await javaConsume({ brokers, topics: [topic], atLeast: 6 })
  expect(records.map((record) => `${record.partition} ${record.key ?? ''}`).sort()).toEqual([
    '0 a',
    '0 b',
    '1 a',
    '1 b',
    '2 a',
    '2 b',
  ])
})

test('Postgres: killed, what was committed is there; set back, what came later is not', async () => {
  const database = await createDatabase(stack.postgres.url)
  const count = async () => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    try {
      return (await client.query<{ n: number }>('select count(*)::int as n from groups')).rows[0]?.n
    } finally {
      await client.end()
    }
  }
  await database.pool.query(`insert into groups (merchant, group_key) values ('m', '1')`)
  await stack.postgres.kill()
  await stack.postgres.restart()
  expect(await count()).toBe(1)
  await stack.postgres.snapshot()
  await database.pool.query(`insert into groups (merchant, group_key) values ('m', '2')`)
  expect(await count()).toBe(2)
  await stack.postgres.restore()
  expect(await count()).toBe(1)
  await database.pool.end()
})
