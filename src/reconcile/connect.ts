import type pg from 'pg'
import { BadConfiguration } from '../runtime/config.ts'
import { kafkaSettings } from '../runtime/kafka/connection.ts'
import { createPlainProducer } from '../runtime/kafka/plain-producer.ts'
import { keepTrying } from '../runtime/keep-trying.ts'
import type { Log } from '../runtime/log.ts'
import { createCodec } from '../schemas/codec.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import { findTopology, otherAppId } from '../store/topology.ts'
import type { ReconcilerConfig } from './config.ts'
import type { PublishDeps } from './publish.ts'

/** What publishing needs. @throws BadConfiguration the topic has other lanes than the orders were dealt to, or another's APP_ID */
export async function connectPublisher(
  config: ReconcilerConfig,
  pool: pg.Pool,
  log: Log,
  signal: AbortSignal,
): Promise<PublishDeps & { readonly checkTopology: () => Promise<void> }> {
  const topic = config.TOPIC_PREFIX + INPUT_TOPIC
  const newCodec = () => createCodec(config.SCHEMA_REGISTRY_URL, config.TOPIC_PREFIX, log)
  const codec = await keepTrying('loading the schemas', newCodec, log, signal)
  const newProducer = () => createPlainProducer(kafkaSettings(config), [topic], log)
  const producer = await keepTrying('connecting the producer', newProducer, log, signal)
  const checkTopology = async () => {
    const topology = await findTopology(pool, topic)
    if (topology === undefined) throw new Error(`no processor has recorded the topology of ${topic} yet`)
    // Another APP_ID's lanes would be paid all the same, but whoever wants to know at once would wait in vain.
    const other = otherAppId(topic, config.APP_ID, topology)
    if (other !== undefined) throw new BadConfiguration(other)
    const [recorded, found] = [topology.partitions, producer.partitionCount(topic)]
    if (recorded !== found)
      throw new BadConfiguration(
        `${topic} has ${found} partitions, and its orders were dealt to ${recorded}: see "partition count" in docs/operations.md`,
      )
  }
  try {
    await keepTrying('checking the topics', checkTopology, log, signal)
  } catch (error) {
    await producer.close()
    throw error
  }
  return { codec, producer, topic, checkTopology }
}
