import type { Producer } from 'kafkajs'
import { describeError, type Log } from '../log.ts'
import { systemClock, type Clock } from '../clock.ts'
import { createAdminSession } from './admin-session.ts'
import { checkAck } from './check-ack.ts'
import { kafkaFor, type KafkaSettings } from './connection.ts'
import { withDeadline } from './deadline.ts'
import { explicitPartitioner } from './explicit-partitioner.ts'
import type { PlainProducer } from './port.ts'

const RETRY = { initialRetryTime: 50, maxRetryTime: 500, retries: 5, factor: 0.2, multiplier: 2 }
const METADATA_MS = 60_000
const FAILURES_MAX = 3
const REPLACE_MS_MIN = 2_000
const CLOSE_MS_MAX = 2_000

/**
 * The gateway's producer. Not idempotent: kafkajs' idempotent mode can acknowledge a record that is not in the log,
 * while a record that is there twice meets the dedupe. After three failures in a row it is replaced by a new one, as
 * kafkajs keeps a connection to a broker that died without closing it.
 *
 * @param topics those that `partitionCount` may be asked for; their counts are read now and every minute.
 * @throws when no broker can be reached, or a topic does not exist.
 */
export async function createPlainProducer(
  settings: KafkaSettings,
  topics: readonly string[],
  log: Log,
  clock: Clock = systemClock,
): Promise<PlainProducer> {
  const kafka = kafkaFor(settings, 'paidonce-producer', log)
  const session = createAdminSession(settings, 'paidonce-metadata', log)
  const connect = async (): Promise<Producer> => {
    const fresh = kafka.producer({
      idempotent: false,
      allowAutoTopicCreation: false,
      metadataMaxAge: METADATA_MS,
      createPartitioner: explicitPartitioner,
      retry: RETRY,
    })
    try {
      await fresh.connect()
      return fresh
    } catch (error) {
      disconnect(fresh)
      throw error
    }
  }
  const readCounts = () => readPartitionCounts(session, topics)

  // One after the other: a caller that tries for ever must not leave a connected producer behind each time.
  const start = async () => ({ counts: await readCounts(), producer: await connect() })
  let { counts, producer } = await start().catch(async (error: unknown) => {
    await session.close()
    throw error
  })
  let failures = 0
  let replacedAtMs = -Infinity
  let closed = false

  const refresh = setInterval(() => {
    readCounts().then(
      (fresh) => (counts = fresh),
      (error: unknown) => log.warn({ error: describeError(error) }, 'partition counts not refreshed'),
    )
  }, METADATA_MS)
  refresh.unref()

  const replace = async () => {
    const old = producer
    try {
      producer = await connect()
      failures = 0
      disconnect(old)
      if (closed) disconnect(producer)
      log.info('Kafka producer replaced after repeated failures')
    } catch (error) {
      log.debug({ error: describeError(error) }, 'Kafka producer not replaced')
    }
  }
  const failed = () => {
    failures += 1
    const nowMs = clock.elapsedMs()
    if (closed || failures < FAILURES_MAX || nowMs - replacedAtMs < REPLACE_MS_MIN) return
    replacedAtMs = nowMs
    void replace()
  }

  return {
    send: async ({ topic, partition, messages }, deadlineMs) => {
      const outgoing = messages.map(({ key, value, headers }) => ({
        key,
        value,
        partition,
        ...(headers === undefined ? {} : { headers }),
      }))
      try {
        const sent = producer.send({ topic, messages: outgoing, acks: -1, timeout: deadlineMs })
        checkAck(topic, partition, await withDeadline(sent, deadlineMs, `Publishing to ${topic}-${partition}`))
        failures = 0
      } catch (error) {
        failed()
        throw error
      }
    },
    partitionCount: (topic) => {
      const count = counts.get(topic)
      if (count === undefined) throw new Error(`The producer was not created for topic ${topic}`)
      return count
    },
    close: async () => {
      closed = true
      clearInterval(refresh)
      await session.close()
      await withDeadline(producer.disconnect(), CLOSE_MS_MAX, 'Closing the Kafka producer').catch(() => undefined)
    },
  }
}

const disconnect = (producer: Producer) => void producer.disconnect().catch(() => undefined)

async function readPartitionCounts(
  session: ReturnType<typeof createAdminSession>,
  topics: readonly string[],
): Promise<Map<string, number>> {
  const metadata = await session.run('Reading partition counts', async (admin) => {
    const existing = new Set(await admin.listTopics())
    const missing = topics.filter((topic) => !existing.has(topic))
    return missing.length > 0 ? { missing } : await admin.fetchTopicMetadata({ topics: [...topics] })
  })
  if ('missing' in metadata)
    throw new Error(`Kafka has no topic ${metadata.missing.join(', ')}: create it with \`paidonce topics create\``)
  return new Map(metadata.topics.map(({ name, partitions }) => [name, partitions.length]))
}
