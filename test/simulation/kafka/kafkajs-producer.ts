import { createRequire } from 'node:module'
import type { Message, Producer } from 'kafkajs'
import { explicitPartitioner } from '../../../src/runtime/kafka/explicit-partitioner.ts'
import { LANE_RETRY } from '../../../src/runtime/kafka/fence-producer.ts'
import { internalsOf } from '../../../src/runtime/kafka/guards/internals.ts'
import type { Host } from '../world/queue.ts'
import type { Network } from '../world/network.ts'
import { partitionName, type Broker } from './broker.ts'
import { Refused, type Sent } from './partition-log.ts'

// fence-producer.ts has loaded kafkajs with its guards.
const internals = internalsOf(createRequire(import.meta.url))
type CreateProducer = (options: object) => Producer
const createProducer = internals.load('src/producer/index.js') as CreateProducer
const { KafkaJSProtocolError, KafkaJSRequestTimeoutError } = internals.load('src/errors.js') as {
  KafkaJSProtocolError: new (fields: object) => Error
  KafkaJSRequestTimeoutError: new (message: string, fields: object) => Error
}
const { errorCodes } = internals.load('src/protocol/error.js') as {
  errorCodes: readonly { readonly type: string; readonly code: number; readonly retriable: boolean }[]
}

interface TopicData {
  readonly topic: string
  readonly partitions: readonly {
    readonly partition: number
    readonly firstSequence: number
    readonly messages: readonly Message[]
  }[]
}
interface By {
  readonly transactionalId: string
  readonly producerId: number
  readonly producerEpoch: number
}
const silent = () => undefined
const LOGGER = {
  namespace: () => LOGGER,
  ...{ debug: silent, info: silent, warn: silent, error: silent },
}

const identity = ({ transactionalId, producerId, producerEpoch: epoch }: By) => ({ transactionalId, producerId, epoch })
const bytes = (value: Buffer | string) => (typeof value === 'string' ? Buffer.from(value) : value)
const sentOf = ({ key, value, headers }: Message): Sent => ({
  key: key == null ? null : bytes(key),
  value: value === null ? null : bytes(value),
  headers: Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, header]) => [name, bytes(header as Buffer | string)]),
  ),
})

export const requestTimeout = () => new KafkaJSRequestTimeoutError('Request timed out', {})
const asKafkajs = <T>(apply: () => T): T => {
  try {
    return apply()
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    const known = errorCodes.find(({ type }) => type === error.type)
    throw new KafkaJSProtocolError(known ?? { type: error.type, code: -1, retriable: false, message: error.type })
  }
}

/** What kafkajs asks of a broker in a transaction; each request is a step of the world. */
export function simulatedNode(host: Host, network: Network, broker: Broker) {
  const call = <T>(what: string, apply: () => T) => network.call(host, what, () => asKafkajs(apply), requestTimeout)
  return {
    nodeId: 0,
    isConnected: () => true,
    initProducerId: ({ transactionalId }: Pick<By, 'transactionalId'>) =>
      call(`InitProducerId ${transactionalId}`, () => broker.coordinator.initProducerId(transactionalId)),
    addPartitionsToTxn: (by: By & { topics: readonly { topic: string; partitions: readonly number[] }[] }) => {
      const members = by.topics.flatMap(({ topic, partitions }) => partitions.map((each) => partitionName(topic, each)))
      return call(`AddPartitionsToTxn ${members.join()}`, () => broker.coordinator.add(identity(by), members))
    },
    produce: async (by: By & { topicData: readonly TopicData[] }) => {
      const topics = []
      for (const { topic, partitions } of by.topicData)
        for (const { partition, firstSequence: sequence, messages } of partitions) {
          const name = partitionName(topic, partition)
          const sent = messages.map(sentOf)
          const base = await call(`Produce ${name} ${sent.length}`, () =>
            broker.produceTransactional({ ...identity(by), sequence }, name, sent),
          )
          topics.push({ topicName: topic, partitions: [{ partition, errorCode: 0, baseOffset: String(base) }] })
        }
      return { topics }
    },
    addOffsetsToTxn: (by: By & { groupId: string }) =>
      call(`AddOffsetsToTxn ${by.groupId}`, () => broker.addOffsets(identity(by), by.groupId)),
    txnOffsetCommit: (
      by: By & {
        groupId: string
        topics: readonly {
          topic: string
          partitions: readonly { partition: number; offset: string; metadata: string }[]
        }[]
      },
    ) => {
      const offsets = new Map(
        by.topics.flatMap(({ topic, partitions }) =>
          partitions.map(
            ({ partition, offset, metadata }) =>
              [partitionName(topic, partition), { offset: Number(offset), metadata }] as const,
          ),
        ),
      )
      return call(`TxnOffsetCommit ${by.groupId}`, () => broker.commitOffsets(identity(by), by.groupId, offsets))
    },
    endTxn: (by: By & { transactionResult: boolean }) =>
      call(`EndTxn ${by.transactionalId} ${by.transactionResult ? 'commit' : 'abort'}`, () =>
        broker.coordinator.endTxn(identity(by), by.transactionResult),
      ),
  }
}

/**
 * kafkajs' own transactional producer, guards included, on a cluster that is simulated: its state machine, its
 * sequences and its retries are the real ones; each request is a step of the world.
 */
export function kafkajsProducer(host: Host, network: Network, broker: Broker, transactionalId: string): Producer {
  const node = simulatedNode(host, network, broker)
  const nothing = () => Promise.resolve()
  const cluster = {
    ...{ connect: nothing, disconnect: nothing, isConnected: () => true, removeBroker: silent },
    ...{ refreshMetadata: nothing, refreshMetadataIfNecessary: nothing, addMultipleTargetTopics: nothing },
    targetTopics: new Set<string>(),
    findTopicPartitionMetadata: () => [{ partitionId: 0 }],
    findLeaderForPartitions: (topic: string, partitions: readonly string[]) => {
      const known = partitions.map(Number).filter((each) => broker.isPartition(partitionName(topic, each)))
      return known.length === 0 ? {} : { 0: known }
    },
    findBroker: () => Promise.resolve(node),
    findGroupCoordinator: () => Promise.resolve(node),
    markOffsetAsCommitted: silent,
  }
  return createProducer({
    ...{ cluster, logger: LOGGER, transactionalId, transactionTimeout: 15_000, retry: LANE_RETRY },
    createPartitioner: explicitPartitioner,
  })
}
