import type { Transaction } from 'kafkajs'
import { kafkaFor } from '../../src/runtime/kafka/connection.ts'
import { explicitPartitioner } from '../../src/runtime/kafka/explicit-partitioner.ts'
import { createLog } from '../../src/runtime/log.ts'
import { stackEnv } from './stack.ts'

/** Somebody who writes to the first partition of topics that are not his. */
export interface Stranger {
  /** Of a transaction that stays open until it is ended, for ten minutes at most. */
  readonly begin: () => Promise<Transaction>
  readonly send: (transaction: Transaction, topic: string, value: Buffer | null) => Promise<void>
  /** Outside of any transaction. */
  readonly write: (topic: string, value: Buffer | null) => Promise<void>
  readonly close: () => Promise<void>
}

export async function createStranger(name: string): Promise<Stranger> {
  const kafka = kafkaFor(
    { brokers: stackEnv().KAFKA_BROKERS.split(','), ssl: false },
    'stranger',
    createLog('test', 'silent'),
  )
  const common = { createPartitioner: explicitPartitioner, allowAutoTopicCreation: false }
  const plain = kafka.producer(common)
  const transactional = kafka.producer({
    ...{ ...common, transactionalId: `${name}-stranger`, transactionTimeout: 600_000, maxInFlightRequests: 1 },
  })
  await Promise.all([plain.connect(), transactional.connect()])
  const messages = (value: Buffer | null) => [{ partition: 0, key: 'x', value }]
  return {
    begin: () => transactional.transaction(),
    send: async (transaction, topic, value) => {
      await transaction.send({ topic, messages: messages(value) })
    },
    write: async (topic, value) => {
      await plain.send({ topic, messages: messages(value) })
    },
    close: async () => {
      await Promise.all([plain.disconnect(), transactional.disconnect()])
    },
  }
}
