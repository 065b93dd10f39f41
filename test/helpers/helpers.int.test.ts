import { expect, test } from 'vitest'
import { createDatabase } from './database.ts'
import { javaConsume, javaProduce } from './java-consumer.ts'
import { createTopics } from './topics.ts'
import { INPUT_TOPIC, SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'

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
