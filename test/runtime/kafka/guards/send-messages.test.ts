import { expect, test, vi } from 'vitest'
import type { RecordMetadata } from 'kafkajs'
import { AckMismatch, checkAck } from '../../../../src/runtime/kafka/check-ack.ts'
import { apartKafkajs, quietLogger } from '../../../helpers/stock-kafkajs.ts'

/** Why one partition per call, with its acknowledgement checked, is law: what stock kafkajs' send does otherwise. */
type Send = (request: object) => Promise<RecordMetadata[]>
type CreateSendMessages = (options: object) => Send
type Produce = { topicData: { topic: string; partitions: { partition: number; firstSequence: number }[] }[] }

const apart = apartKafkajs()
const createSend = apart.load('src/producer/sendMessages.js') as CreateSendMessages
const createRetry = apart.load('src/retry/index.js') as (options: object) => unknown

const topicMessages = (...partitions: number[]) => [
  { topic: 'out', messages: partitions.map((partition) => ({ key: null, value: Buffer.from('v'), partition })) },
]
const acknowledge = ({ topicData }: Produce) => ({
  topics: topicData.map(({ topic, partitions }) => ({
    topicName: topic,
    partitions: partitions.map(({ partition }) => ({ partition, errorCode: 0, baseOffset: '0' })),
  })),
})

function setUp(leaders: Record<number, number>, produce: (broker: number, request: Produce) => Promise<object>) {
  const brokers = [1, 2].map((nodeId) => ({ nodeId, produce: (request: Produce) => produce(nodeId, request) }))
  const cluster = {
    targetTopics: new Set(),
    isConnected: () => true,
    addMultipleTargetTopics: () => Promise.resolve(),
    refreshMetadataIfNecessary: () => Promise.resolve(),
    refreshMetadata: () => Promise.resolve(),
    findTopicPartitionMetadata: () => Object.keys(leaders).map((id) => ({ partitionId: Number(id) })),
    findLeaderForPartitions: (_: string, partitions: string[]) => {
      const byLeader: Record<number, number[]> = {}
      for (const partition of partitions.map(Number)) {
        const leader = leaders[partition]
        if (leader !== undefined) (byLeader[leader] ??= []).push(partition)
      }
      return byLeader
    },
    findBroker: ({ nodeId }: { nodeId: string }) =>
      Promise.resolve(brokers.find((broker) => broker.nodeId === Number(nodeId))),
  }
  let sequence = 0
  const eosManager = {
    isTransactional: () => false,
    acquireBrokerLock: () => Promise.resolve(),
    releaseBrokerLock: () => undefined,
    getSequence: () => sequence,
    updateSequence: (_topic: string, _partition: number, by: number) => (sequence += by),
    getProducerId: () => 1,
    getProducerEpoch: () => 0,
  }
  const partitioner = ({ message }: { message: { partition: number } }) => message.partition
  const retrier = createRetry({ initialRetryTime: 1, maxRetryTime: 1, retries: 5 })
  return createSend({ logger: quietLogger, cluster, partitioner, eosManager, retrier })
}

const retriable = () => Object.assign(new Error('moved'), { name: 'KafkaJSProtocolError', retriable: true })

test('a partition missing from cached metadata is dropped and the call resolves: the ack check throws', async () => {
  const produce = vi.fn((_: number, request: Produce) => Promise.resolve(acknowledge(request)))
  const send = setUp({ 0: 1 }, produce)
  const acks = await send({ acks: -1, topicMessages: topicMessages(3) })
  expect(acks).toEqual([])
  expect(produce).not.toHaveBeenCalled()
  expect(() => checkAck('out', 3, acks)).toThrow(AckMismatch)
})

test('of two partitions one is lost when its leader moves to a broker that has answered', async () => {
  const leaders: Record<number, number> = { 0: 1, 1: 2 }
  const written: number[] = []
  const send = setUp(leaders, async (broker, request) => {
    if (broker === 2) {
      await Promise.resolve()
      leaders[1] = 1
      throw retriable()
    }
    written.push(...request.topicData.flatMap(({ partitions }) => partitions.map(({ partition }) => partition)))
    return acknowledge(request)
  })
  const acks = await send({ acks: -1, topicMessages: topicMessages(0, 1) })
  expect(written).toEqual([0])
  expect(acks.map(({ partition }) => partition)).toEqual([0])
})

test('of two partitions one is written twice when the other fails while it is in flight', async () => {
  const sequences: number[] = []
  let failures = 1
  const release = Promise.withResolvers<undefined>()
  const send = setUp({ 0: 1, 1: 2 }, async (broker, request) => {
    if (broker === 2 && failures-- > 0) throw retriable()
    if (broker === 1) {
      sequences.push(...request.topicData.flatMap(({ partitions }) => partitions.map((entry) => entry.firstSequence)))
      if (sequences.length === 2) release.resolve(undefined)
      await release.promise
    }
    return acknowledge(request)
  })
  await send({ acks: -1, topicMessages: topicMessages(0, 1) })
  // Another sequence number: the broker cannot tell that it is the same record.
  expect(new Set(sequences).size).toBe(2)
})
