import { kafkaErrorType } from '../error-type.ts'
import type { Internals } from './internals.ts'

interface BrokerPool {
  readonly withBroker: (ask: (broker: unknown) => Promise<unknown>) => Promise<unknown>
}
interface Query {
  readonly groupId: string
}
interface Cluster {
  findGroupCoordinatorMetadata: (this: { readonly brokerPool: BrokerPool }, query: Query) => Promise<unknown>
}
interface Lock {
  acquire: (this: object) => Promise<void>
}
type ProtocolError = new (fields: { message: string; type: string; code: number; retriable: boolean }) => Error

/**
 * Two errors of stock kafkajs say only that brokers are away for a moment, and yet count as never to be tried again:
 * a consumer that meets one ends for good, with its process. One hides why each broker of the pool failed, the other
 * is a caller's that waited for someone else's connection. Here both are tried again: the first by the way kafkajs has
 * for a coordinator that is not available yet, which asks the configured brokers for new metadata. A broker that answers
 * "not authorized" is not away: that is told from the rest, as no waiting mends it.
 */
export function guardBrokersAway(internals: Internals): void {
  const { KafkaJSProtocolError } = internals.load('src/errors.js') as { KafkaJSProtocolError: ProtocolError }
  const cluster = (internals.load('src/cluster/index.js') as { prototype: Cluster }).prototype
  const find = cluster.findGroupCoordinatorMetadata
  cluster.findGroupCoordinatorMetadata = async function (query) {
    let denied: string | undefined
    const withBroker: BrokerPool['withBroker'] = (ask) =>
      this.brokerPool.withBroker(async (broker) => {
        try {
          return await ask(broker)
        } catch (error) {
          denied ??= DENIALS.find((type) => type === kafkaErrorType(error))
          throw error
        }
      })
    const self = Object.create(this, { brokerPool: { value: { withBroker } } }) as typeof this
    try {
      return await find.call(self, query)
    } catch (error) {
      const { name, message } = error as Error
      if (name !== 'KafkaJSGroupCoordinatorNotFound') throw error
      if (denied !== undefined)
        throw new KafkaJSProtocolError({ message: sayDenied(denied, query), ...DENIED, type: denied })
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

const DENIALS = ['GROUP_AUTHORIZATION_FAILED', 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED'] as const
/** Any code will do that kafkajs has no rule for: it goes by `retriable` and `type`. */
const DENIED = { code: 30, retriable: false }

const sayDenied = (type: string, { groupId }: Query) =>
  type === 'GROUP_AUTHORIZATION_FAILED'
    ? `Kafka denies the group ${groupId} to this user: grant it READ on the group (kafka-acls.sh)`
    : `Kafka denies the transactional id ${groupId} to this user: grant it WRITE and DESCRIBE on it (kafka-acls.sh)`
