import { createPlainProducer } from '../../src/runtime/kafka/plain-producer.ts'
import { partitionFor } from '../../src/runtime/kafka/partition.ts'
import type { Fact } from '../../src/orders/model.ts'
import { createLog } from '../../src/runtime/log.ts'
import type { Callback } from '../../src/schemas/callback.ts'
import { createCodec } from '../../src/schemas/codec.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { createOrders } from '../../src/store/create-orders.ts'
import { createDatabase, type TestDatabase } from './database.ts'
import { processEnv, stackEnv } from './stack.ts'
import type { StackEnv } from '../../dev/parts/state.ts'
import { until } from './until.ts'
import { createTopics, type TestTopics } from './topics.ts'

/** A record for the input topic, before it is encoded. */
export interface Sent {
  readonly key: string
  readonly callback: Callback
}

export interface Installation {
  readonly topics: TestTopics
  readonly database: TestDatabase
  /** Environment of a process of this installation. */
  readonly env: (more?: Readonly<Record<string, string>>) => NodeJS.ProcessEnv
  readonly laneOf: (outTradeNo: string) => number
  /** Creates orders as the api does, 100 of CNY each; by default they expire in an hour. */
  readonly createOrders: (outTradeNos: readonly string[], payload?: string, expiresAtMs?: number) => Promise<void>
  /** Appends callbacks to their lanes, in order; resolves when the broker has them. */
  readonly send: (sent: readonly Sent[]) => Promise<void>
  /** Appends bytes as they are. */
  readonly sendRaw: (lane: number, key: string | null, value: Buffer) => Promise<void>
  readonly encode: (callback: Callback) => Buffer
  readonly drop: () => Promise<void>
}

export const MERCHANT = 'shop'
export const AMOUNT_MINOR = 100

/** Topics, schemas and a database of a test's own, and what is needed to feed them. */
export async function createInstallation(
  options: { partitions?: number; stack?: StackEnv } = {},
): Promise<Installation> {
  const stack = options.stack ?? stackEnv()
  const [topics, database] = await Promise.all([
    createTopics({
      partitions: options.partitions ?? 3,
      brokers: stack.KAFKA_BROKERS,
      registryUrl: stack.SCHEMA_REGISTRY_URL,
    }),
    createDatabase(stack.DATABASE_URL),
  ])
  const log = createLog('test', 'error')
  const input = topics.name(INPUT_TOPIC)
  const [codec, producer] = await Promise.all([
    createCodec(stack.SCHEMA_REGISTRY_URL, topics.prefix, log),
    // A topic that was just made is not in every answer at once.
    until('the producer sees the topic', () =>
      createPlainProducer({ brokers: stack.KAFKA_BROKERS.split(','), ssl: false }, [input], log),
    ),
  ])
  const laneOf = (outTradeNo: string) => partitionFor(outTradeNo, topics.partitions)
  const encode = (callback: Callback) => codec.encode(INPUT_TOPIC, callback)
  const append = (partition: number, messages: { key: string | null; value: Buffer }[]) =>
    producer.send({ topic: input, partition, messages }, 20_000)
  return {
    topics,
    database,
    laneOf,
    encode,
    env: (more = {}) =>
      processEnv(
        {
          APP_ID: topics.appId,
          TOPIC_PREFIX: topics.prefix,
          DATABASE_URL: database.url,
          SESSION_TIMEOUT_MS: '2000',
          WAKE_INTERVAL_MS: '500',
          ...more,
        },
        stack,
      ),
    createOrders: async (outTradeNos, payload, expiresAtMs = Date.now() + 3_600_000) => {
      for (let from = 0; from < outTradeNos.length; from += 500) {
        const bodies = outTradeNos.slice(from, from + 500).map((outTradeNo) => ({
          ...{ merchant: MERCHANT, outTradeNo, amountMinor: AMOUNT_MINOR, currency: 'CNY', expiresAtMs },
          ...{ groupKey: null, payload: payload ?? null },
        }))
        const results = await createOrders(
          database.pool,
          topics.appId,
          bodies.map((body) => ({ body, lane: laneOf(body.outTradeNo) })),
        )
        const refused = results.find(({ kind }) => kind !== 'created' && kind !== 'same')
        if (refused !== undefined) throw new Error(`an order was not created: ${JSON.stringify(refused)}`)
      }
    },
    send: async (sent) => {
      const byLane = new Map<number, { key: string; value: Buffer }[]>()
      for (const { key, callback } of sent) {
        const lane = laneOf(key)
        const messages = byLane.get(lane) ?? []
        byLane.set(lane, messages)
        messages.push({ key, value: encode(callback) })
      }
      for (const [lane, messages] of byLane)
        for (let from = 0; from < messages.length; from += 500) await append(lane, messages.slice(from, from + 500))
    },
    sendRaw: (lane, key, value) => append(lane, [{ key, value }]),
    drop: async () => {
      await producer.close()
      await Promise.all([topics.drop(), database.drop()])
    },
  }
}

/** A payment of an order, as the gateway publishes it; the same order and transaction is the same fact. */
export function payment(outTradeNo: string, over: Partial<Fact> = {}): Sent {
  return callbackOf(outTradeNo, {
    eventType: 'payment_succeeded',
    providerRef: `wechatpay:tx-${outTradeNo}`,
    paymentRef: null,
    amountMinor: AMOUNT_MINOR,
    currency: 'CNY',
    amountKind: 'none',
    eventTimeMs: 1_760_000_000_000,
    detail: null,
    ...over,
  })
}

export const callbackOf = (outTradeNo: string, fact: Fact): Sent => ({
  key: outTradeNo,
  callback: {
    merchant: MERCHANT,
    outTradeNo,
    provider: 'wechatpay',
    source: 'callback',
    messageType: 'TRANSACTION.SUCCESS',
    messageId: `m-${outTradeNo}`,
    receivedAtMs: Date.now(),
    facts: [fact],
    instead: null,
    rawBody: Buffer.from('{}'),
    rawHeaders: {},
  },
})
