import { createRequire } from 'node:module'
import type { Batch } from 'kafkajs'
import type { Log } from '../log.ts'
import { createClusterSession, type RawCluster } from './cluster-session.ts'
import type { KafkaSettings } from './connection.ts'
import { kafkaErrorType } from './error-type.ts'
import { explainCodec } from './explain-codec.ts'
import { internalsOf } from './guards/internals.ts'
import type { PartitionReader } from './port.ts'
import { toRecord } from './to-input-batch.ts'

/** The log no longer holds, or does not yet hold, the offset that was asked for. */
export class OffsetGone extends Error {
  override readonly name = 'OffsetGone'
}

/** A class without its own types; what it adds to kafkajs' `Batch` is there at run time. */
type FetchedBatch = new (
  topic: string,
  fetchedOffset: string,
  data: object,
) => Batch & { readonly rawMessages: readonly { readonly offset: string }[] }

const READ_COMMITTED = 1
const PAGE_BYTES = 1_048_576

/**
 * Reads single partitions without a group: kafkajs' own consumer joins one, reads all partitions, and leaves the group
 * behind in the cluster. A failed fetch runs again on a new connection.
 */
export function createPartitionReader(settings: KafkaSettings, log: Log, pageBytes = PAGE_BYTES): PartitionReader {
  const internals = internalsOf(createRequire(import.meta.url))
  const session = createClusterSession(settings, 'paidonce-reader', log)
  const Fetched = internals.load('src/consumer/batch.js') as FetchedBatch

  const fetch = async (cluster: RawCluster, topic: string, partition: number, from: number) => {
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
      highWatermark: Number(batch.highWatermark),
    }
  }

  return {
    read: (topic, partition, from) =>
      session.run(
        `Reading ${topic}-${partition}`,
        (cluster) => fetch(cluster, topic, partition, from),
        (error) => {
          if (kafkaErrorType(error) === 'OFFSET_OUT_OF_RANGE')
            return new OffsetGone(`${topic}-${partition} has no offset ${from}`, { cause: error })
          const explained = error instanceof Error ? explainCodec(error, `${topic}-${partition}`) : undefined
          return explained === error ? undefined : explained
        },
      ),
    close: session.close,
  }
}
