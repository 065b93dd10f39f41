import { createRequire } from 'node:module'
import type { Batch } from 'kafkajs'
import type { Log } from '../log.ts'
import { kafkaFor, type KafkaSettings } from './connection.ts'
import { withDeadline } from './deadline.ts'
import { delay } from './delay.ts'
import { kafkaErrorType } from './error-type.ts'
import { internalsOf } from './guards/internals.ts'
import type { PartitionReader } from './port.ts'
import { toRecord } from './to-input-batch.ts'

/** The log no longer holds, or does not yet hold, the offset that was asked for. */
export class OffsetGone extends Error {
  override readonly name = 'OffsetGone'
}

interface Broker {
  readonly fetch: (request: object) => Promise<{
    readonly responses: readonly { readonly partitions: readonly { readonly partition: number }[] }[]
  }>
}
interface Cluster {
  readonly connect: () => Promise<void>
  readonly disconnect: () => Promise<void>
  readonly addTargetTopic: (topic: string) => Promise<void>
  readonly refreshMetadata: () => Promise<void>
  readonly findLeaderForPartitions: (topic: string, partitions: number[]) => Record<string, number[]>
  readonly findBroker: (node: { nodeId: string }) => Promise<Broker>
}
/** A class without its own types; what it adds to kafkajs' `Batch` is there at run time. */
type FetchedBatch = new (
  topic: string,
  fetchedOffset: string,
  data: object,
) => Batch & { readonly rawMessages: readonly { readonly offset: string }[] }

const READ_COMMITTED = 1
const DEADLINE_MS = 30_000
const TRY_MS_MAX = 10_000
const BACKOFF_MS_MAX = 1_000
const PAGE_BYTES = 1_048_576

/**
 * Reads single partitions without a group: kafkajs' own consumer joins one, reads all partitions, and leaves the group
 * behind in the cluster. A failed fetch runs again on a new connection.
 */
export function createPartitionReader(settings: KafkaSettings, log: Log, pageBytes = PAGE_BYTES): PartitionReader {
  const internals = internalsOf(createRequire(import.meta.url))
  const kafka = kafkaFor(settings, 'paidonce-reader', log)
  const Fetched = internals.load('src/consumer/batch.js') as FetchedBatch
  let current: Promise<Cluster> | undefined
  let isClosed = false

  const connect = async () => {
    const cluster = clusterOf(kafka)
    await cluster.connect()
    return cluster
  }
  const discard = (session: Promise<Cluster>) => {
    if (current === session) current = undefined
    session.then((cluster) => cluster.disconnect()).catch(() => undefined)
  }
  const fetch = async (cluster: Cluster, topic: string, partition: number, from: number) => {
    await cluster.addTargetTopic(topic)
    const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]))
    if (nodeId === undefined) throw new Error(`${topic}-${partition} has no leader`)
    const broker = await cluster.findBroker({ nodeId })
    const { responses } = await broker.fetch({
      isolationLevel: READ_COMMITTED,
      maxWaitTime: 0,
      maxBytes: pageBytes,
      topics: [{ topic, partitions: [{ partition, fetchOffset: String(from), maxBytes: pageBytes }] }],
    })
    const data = responses[0]?.partitions[0]
    if (data === undefined) throw new Error(`the broker answered nothing about ${topic}-${partition}`)
    const batch = new Fetched(topic, String(from), data)
    const last = batch.rawMessages.at(-1)
    return {
      records: batch.messages.map(toRecord),
      next: Math.max(from, last === undefined ? 0 : Number(last.offset) + 1),
    }
  }

  return {
    read: async (topic, partition, from) => {
      const startedMs = performance.now()
      for (let tries = 1; ; tries++) {
        if (isClosed) throw new Error('the connection to Kafka is closed')
        const session = (current ??= connect())
        try {
          const read = session.then((cluster) => fetch(cluster, topic, partition, from))
          return await withDeadline(read, TRY_MS_MAX, `Reading ${topic}-${partition}`)
        } catch (error) {
          discard(session)
          if (kafkaErrorType(error) === 'OFFSET_OUT_OF_RANGE')
            throw new OffsetGone(`${topic}-${partition} has no offset ${from}`, { cause: error })
          if (performance.now() - startedMs > DEADLINE_MS) throw error
          await delay(Math.min(20 * 2 ** tries, BACKOFF_MS_MAX) * (0.5 + Math.random() / 2))
        }
      }
    },
    close: () => {
      isClosed = true
      if (current !== undefined) discard(current)
      return Promise.resolve()
    },
  }
}

/** kafkajs keeps the one way to a plain connection under a symbol. */
function clusterOf(kafka: object): Cluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  )
  if (symbol === undefined) throw new Error('this kafkajs makes its clusters elsewhere')
  const create = (kafka as Record<symbol, (options: object) => Cluster>)[symbol]
  if (create === undefined) throw new Error('this kafkajs makes no clusters')
  return create({ metadataMaxAge: 60_000, allowAutoTopicCreation: false, isolationLevel: READ_COMMITTED })
}
