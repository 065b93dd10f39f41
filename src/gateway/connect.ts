import type { Clock } from '../runtime/clock.ts'
import { kafkaSettings } from '../runtime/kafka/connection.ts'
import { createPlainProducer } from '../runtime/kafka/plain-producer.ts'
import { createTopicAdmin } from '../runtime/kafka/topic-admin.ts'
import { keepTrying } from '../runtime/keep-trying.ts'
import type { Log } from '../runtime/log.ts'
import { createCodec } from '../schemas/codec.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import { createBatchPublisher } from './batch-publisher.ts'
import { checkTopology } from './check-topology.ts'
import type { GatewayConfig } from './config.ts'
import type { GatewayReach } from './crash-points.ts'
import { createRepeatFilter } from './filter/repeat-filter.ts'
import { createSift } from './filter/sift.ts'
import { watchScope } from './filter/watch-scope.ts'
import type { GatewayMetrics } from './metrics.ts'
import { createReceive, type Receive } from './receive-callback.ts'
import { watchTopology } from './watch-topology.ts'

/** What stands behind the public server once Kafka and the registry have been reached. */
export interface Backend {
  readonly receive: Receive
  /** Publishes what waits, then closes the connections. */
  readonly close: () => Promise<void>
}

export interface ConnectParts {
  readonly log: Log
  readonly clock: Clock
  readonly metrics: GatewayMetrics
  /** Something that only a person can put right: the process has to end. */
  readonly onFatal: (error: Error) => void
  readonly signal: AbortSignal
  readonly reach: GatewayReach
}

export type Connect = (config: GatewayConfig, parts: ConnectParts) => Promise<Backend>

/** Enough for the in-flight limit's requests, combined payments included. */
const RECORDS_PER_REQUEST = 4
const PENDING_BYTES_MAX = 128 * 1_024 * 1_024

/** Waits for Kafka and the registry, checks the topics, now and every minute, and builds the publishing side. */
export const connectBackend: Connect = async (config, parts) => {
  const { log, clock, metrics, onFatal, signal, reach } = parts
  const settings = kafkaSettings(config)
  const input = `${config.TOPIC_PREFIX}${INPUT_TOPIC}`
  const admin = createTopicAdmin(settings, log)
  const closers: (() => Promise<void> | void)[] = [admin.close]
  const close = async () => {
    for (const closeOne of closers.splice(0).reverse()) await closeOne()
  }
  try {
    const options = { topicPrefix: config.TOPIC_PREFIX, allowSingleReplica: config.ALLOW_SINGLE_REPLICA }
    const partitions = await keepTrying('checking the topics', () => checkTopology(admin, options), log, signal)
    const newCodec = () => createCodec(config.SCHEMA_REGISTRY_URL, config.TOPIC_PREFIX, log)
    const codec = await keepTrying('loading the schemas', newCodec, log, signal)
    const newProducer = () => createPlainProducer(settings, [input], log, clock)
    const producer = await keepTrying('connecting the producer', newProducer, log, signal)
    closers.push(producer.close)
    const newSift = async () => {
      if (config.REDIS_URL === undefined) return undefined
      const watch = await watchScope(admin, { topic: input, clock, log })
      closers.push(watch.stop)
      const { filterUp, filterFailures, filtered } = metrics
      const filter = createRepeatFilter({
        ...{ url: config.REDIS_URL, answerMsMax: config.REDIS_ANSWER_MS_MAX, log },
        onUp: (up) => filterUp.set(up ? 1 : 0),
        onFailure: (reason) => filterFailures.inc({ reason }),
      })
      closers.push(filter.close)
      return createSift(filter, {
        scope: watch.scope,
        onRepeat: (provider) => filtered.inc({ provider }),
        onUnsure: () => filterFailures.inc({ reason: 'unsure' }),
      })
    }
    const sift = await keepTrying('asking for the topic of the filter', newSift, log, signal)
    const watch = watchTopology(admin, { ...options, partitions }, { onFatal, log })
    closers.push(watch.stop)
    const publisher = createBatchPublisher(
      producer,
      {
        topic: input,
        partitions,
        intervalMs: config.PUBLISH_INTERVAL_MS,
        pendingRecordsMax: config.IN_FLIGHT_MAX * RECORDS_PER_REQUEST,
        pendingBytesMax: PENDING_BYTES_MAX,
        onBatch: (records) => metrics.batchRecords.observe(records),
        onPartitionCountChanged: watch.look,
      },
      clock,
      log,
      reach,
    )
    closers.push(publisher.close)
    return { receive: createReceive(publisher, codec, clock, log, reach, sift), close }
  } catch (error) {
    await close()
    throw error
  }
}
