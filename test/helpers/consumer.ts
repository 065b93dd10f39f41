import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { readConsumerConfig } from '../../src/consumer/config.ts'
import { startConsumer, type RunningConsumer } from '../../src/consumer/start.ts'
import type { ConsumerOptions } from '../../src/consumer/options.ts'
import { createPlainProducer } from '../../src/runtime/kafka/plain-producer.ts'
import { partitionFor } from '../../src/runtime/kafka/partition.ts'
import { createLog } from '../../src/runtime/log.ts'
import { createCodec } from '../../src/schemas/codec.ts'
import type { Fulfillment } from '../../src/schemas/fulfillment.ts'
import { FULFILLMENT_TOPICS, SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { createDatabase, type TestDatabase } from './database.ts'
import { processEnv, stackEnv } from './stack.ts'
import { createTopics, type TestTopics } from './topics.ts'
import { until } from './until.ts'

/** Topics, a consumer's database, and somebody who emits events as a lane does. */
export interface Downstream {
  readonly topics: TestTopics
  readonly database: TestDatabase
  /** `CONSUMER_NAME`. */
  readonly consumer: string
  /** To the partition of the order's key, in order. */
  readonly emit: (events: readonly Fulfillment[], topic?: (typeof FULFILLMENT_TOPICS)[number]) => Promise<void>
  readonly emitRaw: (key: string, value: Buffer | null) => Promise<void>
  readonly env: (more?: Readonly<Record<string, string>>) => NodeJS.ProcessEnv
  /** It is stopped by `drop`, if it was not before. */
  readonly start: (
    options: Partial<ConsumerOptions> & Pick<ConsumerOptions, 'effects'>,
    more?: Readonly<Record<string, string>>,
  ) => Promise<RunningConsumer>
  readonly states: () => Promise<Record<string, number>>
  /** Waits until the inbox has so many events in each state, and no other. */
  readonly untilStates: (states: Readonly<Record<string, number>>, deadlineMs?: number) => Promise<unknown>
  readonly untilDone: (count: number, deadlineMs?: number) => Promise<unknown>
  readonly drop: () => Promise<void>
}

export const anEvent = (outTradeNo: string, more: Partial<Fulfillment> = {}): Fulfillment => ({
  ...{ eventId: randomUUID(), kind: 'ship', merchant: 'shop', outTradeNo, sequence: 1, lane: 0, laneSeq: 0 },
  ...{ cause: 'payment_succeeded/x', amountMinor: 1_200, currency: 'CNY', paymentRef: 'x', attrs: null },
  ...{ occurredAtMs: Date.now(), receivedAtMs: null },
  payload: JSON.stringify({ items: [{ sku: 'SKU-1', quantity: 1 }] }),
  ...more,
})

export async function createDownstream(partitions = 2): Promise<Downstream> {
  const [topics, database] = await Promise.all([createTopics({ partitions }), createDatabase()])
  const log = createLog('test', 'silent')
  const { KAFKA_BROKERS, SCHEMA_REGISTRY_URL } = stackEnv()
  const settings = { brokers: KAFKA_BROKERS.split(','), ssl: false }
  const codec = await createCodec(SCHEMA_REGISTRY_URL, topics.prefix, log)
  const producer = await createPlainProducer(settings, FULFILLMENT_TOPICS.map(topics.name), log)
  const send = (topic: (typeof FULFILLMENT_TOPICS)[number], key: string, values: readonly (Buffer | null)[]) =>
    producer.send(
      {
        topic: topics.name(topic),
        partition: partitionFor(key, partitions),
        // The types know no tombstones.
        messages: values.map((value) => ({ key, value: value as Buffer })),
      },
      10_000,
    )
  const consumer = `${topics.appId}-c`
  const running: RunningConsumer[] = []
  const env = (more: Readonly<Record<string, string>> = {}) =>
    processEnv({
      ...{ TOPIC_PREFIX: topics.prefix, CONSUMER_NAME: consumer, DATABASE_URL: database.url },
      ...{ SESSION_TIMEOUT_MS: '3000', RETRY_FROM_MS: '20', RETRY_TO_MS: '400' },
      ...more,
    })
  const states = async () => {
    const { rows } = await database.pool.query<{ state: string; count: string }>(
      'select state, count(*) from paidonce_consumer.inbox group by state order by state',
    )
    return Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)]))
  }
  return {
    ...{ topics, database, consumer, env, states },
    emit: async (events, topic = SHIPMENT_TOPIC) => {
      const byPartition = Map.groupBy(events, ({ outTradeNo }) => partitionFor(outTradeNo, partitions))
      for (const some of byPartition.values())
        for (let from = 0; from < some.length; from += 500) {
          const part = some.slice(from, from + 500)
          await producer.send(
            {
              topic: topics.name(topic),
              partition: partitionFor(part[0]?.outTradeNo ?? '', partitions),
              messages: part.map((event) => ({ key: event.outTradeNo, value: codec.encode(topic, event) })),
            },
            10_000,
          )
        }
    },
    emitRaw: (key, value) => send(SHIPMENT_TOPIC, key, [value]),
    start: async (options, more = {}) => {
      const one = await startConsumer(readConsumerConfig(env(more)), { topic: SHIPMENT_TOPIC, log, ...options })
      running.push(one)
      return one
    },
    untilStates: (expected, deadlineMs) =>
      until(
        `the inbox has ${JSON.stringify(expected)}`,
        async () => {
          expect(await states()).toEqual(expected)
          return true
        },
        deadlineMs,
      ),
    untilDone: (count, deadlineMs = 90_000) =>
      until(`${count} events are done`, async () => (await states())['done'] === count, deadlineMs),
    drop: async () => {
      await Promise.all(running.map((one) => one.stop()))
      await producer.close()
      await database.drop()
      await topics.drop()
    },
  }
}
