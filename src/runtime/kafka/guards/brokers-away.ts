import type { Internals } from './internals.ts'

interface Cluster {
  findGroupCoordinatorMetadata: (this: object, query: object) => Promise<unknown>
}
interface Lock {
  acquire: (this: object) => Promise<void>
}
type ProtocolError = new (fields: { message: string; type: string; code: number; retriable: boolean }) => Error

/**
 * Two errors of stock kafkajs say only that brokers are away for a moment, and yet count as never to be tried again:
 * a consumer that meets one ends for good, with its process. One hides why each broker of the pool failed, the other
 * is a caller's that waited for someone else's connection. Here both are tried again: the first by the way kafkajs has
 * for a coordinator that is not available yet, which asks the configured brokers for new metadata.
 */
export function guardBrokersAway(internals: Internals): void {
  const { KafkaJSProtocolError } = internals.load('src/errors.js') as { KafkaJSProtocolError: ProtocolError }
  const cluster = (internals.load('src/cluster/index.js') as { prototype: Cluster }).prototype
  const find = cluster.findGroupCoordinatorMetadata
  cluster.findGroupCoordinatorMetadata = async function (query) {
    try {
      return await find.call(this, query)
    } catch (error) {
      const { name, message } = error as Error
      if (name !== 'KafkaJSGroupCoordinatorNotFound') throw error
      throw new KafkaJSProtocolError({ message, type: 'GROUP_COORDINATOR_NOT_AVAILABLE', code: 15, retriable: true })
    }
  }

  const lock = (internals.load('src/utils/lock.js') as { prototype: Lock }).prototype
  const acquire = lock.acquire
  lock.acquire = async function () {
    try {
      await acquire.call(this)
    } catch (error) {
      throw Object.assign(error as Error, { retriable: true })
    }
  }
}
