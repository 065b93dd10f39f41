import { expect, onTestFinished, test } from 'vitest'
import { Kafka, logLevel } from '../../../src/runtime/kafka/kafkajs.ts'
import { explicitPartitioner } from '../../../src/runtime/kafka/explicit-partitioner.ts'
import { javaConsume } from '../../helpers/java-consumer.ts'
import { apartKafkajs } from '../../helpers/stock-kafkajs.ts'
import { freshName, freshTopic, settings, testFence, testReader, values } from './support.ts'

const RETRY = { initialRetryTime: 5, maxRetryTime: 200, retries: 20 }

/** Leaves a transaction open, as a process that was killed does. */
async function dieInside(transactionalId: string, topic: string, group: string) {
  const kafka = new Kafka({ brokers: [...settings().brokers], logLevel: logLevel.NOTHING })
  const producer = kafka.producer({ transactionalId, createPartitioner: explicitPartitioner, retry: RETRY })
  onTestFinished(() => producer.disconnect())
  await producer.connect()
  const transaction = await producer.transaction()
  await transaction.send({ topic, messages: values('orphan').map((message) => ({ ...message, partition: 0 })) })
  await transaction.sendOffsets({
    consumerGroupId: group,
    topics: [{ topic, partitions: [{ partition: 0, offset: '9' }] }],
  })
}

/** How long the client waited before each further attempt to fence, by its own log. */
async function waitsOfStockFence(transactionalId: string): Promise<number[]> {
  const waits: number[] = []
  const { kafkajs } = apartKafkajs()
  const producer = new kafkajs.Kafka({
    brokers: [...settings().brokers],
    logLevel: kafkajs.logLevel.DEBUG,
    logCreator: () => (entry) => {
      if (entry.log.message.startsWith('There is an ongoing transaction')) waits.push(Number(entry.log['retryTime']))
    },
    retry: RETRY,
  }).producer({ transactionalId, retry: RETRY, createPartitioner: explicitPartitioner })
  await producer.connect()
  await (await producer.transaction()).abort()
  await producer.disconnect()
  return waits
}

test('stock kafkajs fences an open transaction after 300 ms at the earliest, whatever is configured', async () => {
  const [topic, app] = [await freshTopic(), freshName('app')]
  await dieInside(`${app}-lane-0`, topic, app)
  const waits = await waitsOfStockFence(`${app}-lane-0`)
  expect(waits.length).toBeGreaterThan(0)
  expect(waits[0]).toBeGreaterThanOrEqual(240) // 300 ms, give or take its factor of 0.2
})

test('ours ends it, and nothing of it shows in events or offsets', async () => {
  const [topic, app] = [await freshTopic(), freshName('app')]
  const [fence, reader] = [testFence(), await testReader()]
  await dieInside(`${app}-lane-0`, topic, app)
  const startedMs = performance.now()
  const owner = await fence(`${app}-lane-0`)
  console.log(`fence over an open transaction: ${Math.round(performance.now() - startedMs)} ms`)
  expect(await reader.committed(app, topic, 0)).toBeUndefined()
  await owner.commit(
    [{ topic, partition: 0, messages: values('owner') }],
    [{ group: app, topic, partition: 0, offset: 1 }],
  )
  expect((await javaConsume({ topics: [topic] })).map(({ key }) => key)).toEqual(['owner'])
})
