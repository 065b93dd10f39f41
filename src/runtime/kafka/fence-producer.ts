import type { Log } from '../log.ts'
import { kafkaFor, type KafkaSettings } from './connection.ts'
import { explicitPartitioner } from './explicit-partitioner.ts'
import { fenceWith } from './fence-with.ts'
import { TRANSACTION_TIMEOUT_MS } from './lane-producer.ts'
import type { FenceProducer } from './port.ts'

/**
 * The default of 300 ms costs a lane 14 instead of 172 transactions a second, as the first request of a transaction is
 * often refused while the previous one's markers are written. It is safe because a call goes to one partition.
 */
export const LANE_RETRY = { initialRetryTime: 5, maxRetryTime: 200, retries: 20, factor: 0.2, multiplier: 2 }

/** Lanes' producers, on a kafkajs instance of their own (see `kafkaFor`). */
export function createFenceProducer(settings: KafkaSettings, log: Log): { readonly fence: FenceProducer } {
  const kafka = kafkaFor(settings, 'paidonce-lane', log, LANE_RETRY)
  return {
    fence: async (transactionalId) => {
      const producer = kafka.producer({
        transactionalId,
        transactionTimeout: TRANSACTION_TIMEOUT_MS,
        maxInFlightRequests: 1,
        allowAutoTopicCreation: false,
        metadataMaxAge: 60_000,
        createPartitioner: explicitPartitioner,
        retry: LANE_RETRY,
      })
      return fenceWith(producer, transactionalId)
    },
  }
}
