import { expect, onTestFinished, test } from 'vitest'
import * as guarded from '../../../src/runtime/kafka/kafkajs.ts'
import { explicitPartitioner } from '../../../src/runtime/kafka/explicit-partitioner.ts'
import { createPartitionReader } from '../../../src/runtime/kafka/partition-reader.ts'
import { javaConsume } from '../../helpers/java-consumer.ts'
import { printedRandom } from '../../helpers/seed.ts'
import { freshName, freshTopic, log, settings, testReader, values } from './support.ts'

function reader(pageBytes: number) {
  const made = createPartitionReader(settings(), log, pageBytes)
  onTestFinished(() => made.close())
  return made
}

/** Transactions of two writers, some aborted. */
async function write(topic: string): Promise<void> {
  const random = printedRandom('two writers')
  const kafka = new guarded.Kafka({ brokers: [...settings().brokers], logLevel: guarded.logLevel.NOTHING })
  const retry = { initialRetryTime: 5, maxRetryTime: 100, retries: 30 }
  const writer = async (name: string) => {
    const producer = kafka.producer({ transactionalId: freshName(name), createPartitioner: explicitPartitioner, retry })
    await producer.connect()
    for (let round = 0; round < 20; round++) {
      const transaction = await producer.transaction()
      const texts = Array.from({ length: 1 + random.below(20) }, (_, i) => `${name}-${round}-${i}`)
      await transaction.send({ topic, messages: values(...texts).map((message) => ({ ...message, partition: 1 })) })
      await (random.chance(0.6) ? transaction.commit() : transaction.abort())
    }
    await producer.disconnect()
  }
  await Promise.all([writer('a'), writer('b')])
}

test.each([300, 1_048_576])(
  'with pages of %i bytes: what Java sees, from any offset, to the end',
  async (pageBytes) => {
    const topic = await freshTopic(2)
    await write(topic)
    const java = (await javaConsume({ topics: [topic] })).map(({ offset, value }) => `${offset} ${String(value)}`)
    const { end } = await (await testReader()).logRange(topic, 1)
    const partition = reader(pageBytes)
    const readFrom = async (start: number) => {
      const seen: string[] = []
      let at = start
      for (;;) {
        const { records, next } = await partition.read(topic, 1, at)
        seen.push(...records.map(({ offset, value }) => `${offset} ${String(value)}`))
        if (next === at) return { seen, at }
        at = next
      }
    }
    expect(java.length).toBeGreaterThan(50)
    expect(await readFrom(0)).toEqual({ seen: java, at: end })
    const middle = Math.floor(end / 2)
    expect((await readFrom(middle)).seen).toEqual(java.filter((line) => Number(line.split(' ')[0]) >= middle))
    await expect(partition.read(topic, 1, end + 5)).rejects.toThrow(`has no offset ${end + 5}`)
  },
)
