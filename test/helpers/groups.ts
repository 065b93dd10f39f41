import { kafkaFor } from '../../src/runtime/kafka/connection.ts'
import { createLog } from '../../src/runtime/log.ts'
import { inputGroup, INPUT_TOPIC, ledgerGroup } from '../../src/schemas/topics.ts'
import type { Installation } from './installation.ts'
import { stackEnv } from './stack.ts'

/** What an operator does with Kafka's own tools; the group must have no member, as there. */
export interface GroupTool {
  readonly offsets: (group: 'input' | 'ledger') => Promise<Map<number, { offset: number; metadata: string }>>
  /** `kafka-consumer-groups --reset-offsets`, which leaves no metadata; `mark` writes it, as a lane does. */
  readonly set: (group: 'input' | 'ledger', lane: number, offset: number, mark?: boolean) => Promise<void>
  readonly delete: (group: 'input' | 'ledger') => Promise<void>
}

export function groupTool({ topics }: Installation): GroupTool {
  const kafka = kafkaFor(
    { brokers: stackEnv().KAFKA_BROKERS.split(','), ssl: false },
    'operator',
    createLog('operator', 'silent'),
  )
  const idOf = { input: inputGroup(topics.appId), ledger: ledgerGroup(topics.appId) }
  const topic = topics.name(INPUT_TOPIC)
  const withAdmin = async <T>(work: (admin: ReturnType<typeof kafka.admin>) => Promise<T>): Promise<T> => {
    const admin = kafka.admin()
    await admin.connect()
    try {
      return await work(admin)
    } finally {
      await admin.disconnect()
    }
  }
  return {
    offsets: (group) =>
      withAdmin(async (admin) => {
        const [entry] = await admin.fetchOffsets({ groupId: idOf[group], topics: [topic] })
        return new Map(
          entry?.partitions
            .filter(({ offset }) => Number(offset) >= 0)
            .map(({ partition, offset, metadata }) => [
              partition,
              { offset: Number(offset), metadata: metadata ?? '' },
            ]),
        )
      }),
    set: async (group, lane, offset, mark = false) => {
      // kafkajs' `setOffsets` joins the group and takes 5 s to leave it; this comes to the same.
      const producer = kafka.producer({ transactionalId: `${idOf[group]}-operator-${lane}` })
      await producer.connect()
      const transaction = await producer.transaction()
      const entry = { partition: lane, offset: String(offset), metadata: mark ? String(offset) : '' }
      await transaction.sendOffsets({ consumerGroupId: idOf[group], topics: [{ topic, partitions: [entry] }] })
      await transaction.commit()
      await producer.disconnect()
    },
    delete: (group) =>
      withAdmin(async (admin) => {
        await admin.deleteGroups([idOf[group]])
      }),
  }
}
