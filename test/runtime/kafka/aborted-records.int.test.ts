import type * as Kafkajs from 'kafkajs'
import { expect, onTestFinished, test } from 'vitest'
import * as guarded from '../../../src/runtime/kafka/kafkajs.ts'
import { explicitPartitioner } from '../../../src/runtime/kafka/explicit-partitioner.ts'
import { createInputConsumer } from '../../../src/runtime/kafka/input-consumer.ts'
import { javaConsume } from '../../helpers/java-consumer.ts'
import { printedRandom } from '../../helpers/seed.ts'
import { apartKafkajs } from '../../helpers/stock-kafkajs.ts'
import { until } from '../../helpers/until.ts'
import { freshName, freshTopic, log, settings, testProducer, values } from './support.ts'

const WRITERS = 4
const ROUNDS = 25

/** Transactions of several writers on one partition, interleaved, committed or aborted. @returns the committed values */
async function writeInterleaved(topic: string): Promise<string[]> {
  const random = printedRandom('interleaved writers')
  const kafka = new guarded.Kafka({ brokers: [...settings().brokers], logLevel: guarded.logLevel.NOTHING })
  const committed: string[] = []
  const writer = async (name: string) => {
    const producer = kafka.producer({
      transactionalId: freshName(name),
      createPartitioner: explicitPartitioner,
      retry: { initialRetryTime: 5, maxRetryTime: 100, retries: 30 },
    })
    await producer.connect()
    for (let round = 0; round < ROUNDS; round++) {
      const sent: string[] = []
      const transaction = await producer.transaction()
      for (let part = 0; part <= random.below(3); part++) {
        const texts = Array.from({ length: 1 + random.below(4) }, (_, i) => `${name}-${round}-${part}-${i}`)
        sent.push(...texts)
        await transaction.send({ topic, messages: values(...texts).map((message) => ({ ...message, partition: 0 })) })
      }
      if (random.chance(0.5)) {
        await transaction.commit()
        committed.push(...sent)
      } else await transaction.abort()
    }
    await producer.disconnect()
  }
  await Promise.all(Array.from({ length: WRITERS }, (_, i) => writer(`w${i}`)))
  return committed
}

async function readWith(kafkajs: typeof Kafkajs, topic: string): Promise<string[]> {
  const kafka = new kafkajs.Kafka({ brokers: [...settings().brokers], logLevel: kafkajs.logLevel.NOTHING })
  const consumer = kafka.consumer({
    groupId: freshName('stock'),
    readUncommitted: false,
    maxBytesPerPartition: 1_000,
    maxBytes: 1_000,
    maxWaitTimeInMs: 50,
  })
  onTestFinished(() => consumer.disconnect())
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const got: string[] = []
  await consumer.run({
    autoCommit: false,
    eachMessage: ({ message }) => {
      got.push(message.value?.toString() ?? '')
      return Promise.resolve()
    },
  })
  await until('the last record is read', () => got.includes('end'))
  return got
}

async function readWithOurs(topic: string): Promise<string[]> {
  const options = { group: freshName('ours'), topic, partitions: 1, maxBytesPerPartition: 1_000, maxWaitMs: 50 }
  const consumer = createInputConsumer(settings(), options, log)
  onTestFinished(() => consumer.stop())
  const got: string[] = []
  await consumer.run({
    onAssigned: () => undefined,
    onOutOfRange: () => undefined,
    onCrash: () => undefined,
    onBatch: (batch, control) => {
      got.push(...batch.records.map(({ value }) => value?.toString() ?? ''))
      control.resolve(batch.endOffset)
      return Promise.resolve()
    },
  })
  await until('the last record is read', () => got.includes('end'))
  return got
}

test("aborted records of interleaved writers reach stock kafkajs' consumer; neither Java's nor ours", async () => {
  const topic = await freshTopic()
  const committed = await writeInterleaved(topic)
  await (await testProducer(topic)).send({ topic, partition: 0, messages: values('end') }, 5_000)
  const expected = [...committed, 'end'].sort()
  const java = await javaConsume({ topics: [topic] })
  expect(java.map(({ value }) => value?.toString()).sort()).toEqual(expected)
  const stock = await readWith(apartKafkajs().kafkajs, topic)
  expect(stock.filter((value) => !expected.includes(value)).length).toBeGreaterThan(0)
  expect((await readWithOurs(topic)).sort()).toEqual(expected)
})
