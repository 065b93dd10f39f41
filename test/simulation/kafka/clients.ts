import { withDeadline } from '../../../src/runtime/kafka/deadline.ts'
import { fenceWith } from '../../../src/runtime/kafka/fence-with.ts'
import type { FenceProducer, OffsetReader, OutgoingMessage, PlainProducer } from '../../../src/runtime/kafka/port.ts'
import { kafkajsProducer, requestTimeout } from './kafkajs-producer.ts'
import { partitionName, type Broker } from './broker.ts'
import { readable, type Committed } from './group-offsets.ts'
import { stableEnd } from './partition-log.ts'
import type { Host } from '../world/queue.ts'
import type { Network } from '../world/network.ts'

/** The fence of one process. */
export const simulatedFence =
  (host: Host, network: Network, broker: Broker): FenceProducer =>
  (transactionalId) =>
    fenceWith(kafkajsProducer(host, network, broker, transactionalId), transactionalId)

export function simulatedOffsets(host: Host, network: Network, broker: Broker): OffsetReader {
  const TRIES = 3
  const read = async <T>(what: string, apply: () => T): Promise<T> => {
    for (let tries = 1; ; tries++)
      try {
        return await network.call(host, what, apply, requestTimeout)
      } catch (error) {
        if (tries >= TRIES) throw error
      }
  }
  return {
    committed: (group, topic, partition) => {
      const name = partitionName(topic, partition)
      // kafkajs cannot ask for stable offsets only: while markers are on their way the old value is read.
      return read(`OffsetFetch ${group} ${name}`, () => readable(broker.group(group)).get(name))
    },
    committedAtOnce: (group, topics, partition) =>
      read(`OffsetFetch ${group} ${topics.length} topics`, () => {
        const all = readable(broker.group(group))
        const found = topics.map((topic) => [topic, all.get(partitionName(topic, partition))] as const)
        return new Map(found.filter((entry): entry is readonly [string, Committed] => entry[1] !== undefined))
      }),
    logRange: (topic, partition) => {
      const name = partitionName(topic, partition)
      return read(`ListOffsets ${name}`, () => {
        const log = broker.log(name)
        return { start: log.start, end: stableEnd(log) }
      })
    },
    topicIds: (topics) =>
      read('Metadata', () => {
        const found = topics.map((topic) => [topic, broker.topicId(topic)] as const)
        return new Map(found.filter((entry): entry is readonly [string, string] => entry[1] !== undefined))
      }),
  }
}

const toSent = ({ key, value, headers }: OutgoingMessage) => ({
  key: typeof key === 'string' ? Buffer.from(key) : key,
  value,
  headers: Object.fromEntries(Object.entries(headers ?? {}).map(([name, header]) => [name, Buffer.from(header)])),
})

/** The gateway's: it tries again after a lost answer, so that records can be in the log twice. */
export function simulatedPlainProducer(
  host: Host,
  network: Network,
  broker: Broker,
  partitions: number,
): PlainProducer {
  const TRIES = 3
  const produce = async (name: string, messages: readonly OutgoingMessage[]) => {
    const sent = messages.map(toSent)
    for (let tries = 1; ; tries++)
      try {
        await network.call(host, `Produce ${name} ${sent.length}`, () => broker.produce(name, sent), requestTimeout)
        return
      } catch (error) {
        if (tries >= TRIES) throw error
      }
  }
  return {
    send: ({ topic, partition, messages }, deadlineMs) =>
      withDeadline(produce(partitionName(topic, partition), messages), deadlineMs, `Publishing to ${topic}`),
    partitionCount: () => partitions,
    close: () => Promise.resolve(),
  }
}
