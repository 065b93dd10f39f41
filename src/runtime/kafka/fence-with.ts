import type { Producer } from 'kafkajs'
import { withDeadline } from './deadline.ts'
import { laneProducer } from './lane-producer.ts'
import type { LaneProducer } from './port.ts'

const FENCE_MS_MAX = 30_000

/**
 * Fences every older producer of the transactional id with a new one.
 * @param producer not connected yet; it is closed when it fails
 */
export async function fenceWith(producer: Producer, transactionalId: string): Promise<LaneProducer> {
  try {
    await withDeadline(initialize(producer), FENCE_MS_MAX, `The fence of ${transactionalId}`)
  } catch (error) {
    producer.disconnect().catch(() => undefined)
    throw error
  }
  return laneProducer(producer, transactionalId)
}

/** Sends InitProducerId and nothing else: kafkajs has no call for it, and only a new object sends it. */
async function initialize(producer: Producer): Promise<void> {
  await producer.connect()
  const transaction = await producer.transaction()
  await transaction.abort()
}
