import type { Internals } from './internals.ts'

/** Retries of InitProducerId while the dead owner's transaction is being ended: about 4 s in all. */
export const FENCE_RETRY = { initialRetryTime: 5, maxRetryTime: 200, retries: 20, factor: 0.2, multiplier: 2 }

interface CoordinatorQuery {
  readonly groupId: string
  readonly coordinatorType?: number
}
interface Broker {
  readonly isConnected: () => boolean
}
interface Cluster {
  readonly findGroupCoordinator: (query: CoordinatorQuery) => Promise<Broker>
}
interface EosManager {
  readonly isInitialized: () => boolean
}
type CreateEosManager = (options: { cluster: Cluster }) => EosManager

/**
 * Two changes to how kafkajs runs transactions.
 *
 * Its `createRetry(cluster.retry)` finds nothing there, so InitProducerId always retries after 300 ms whatever is
 * configured: fencing a dead owner's open transaction took 297 ms, now 13.
 *
 * It looks coordinators up again for every request: 6 of about 14 requests per transaction. Here an initialized manager
 * remembers them. A coordinator that has moved answers with an error, which ends the producer and the memory with it.
 */
export function guardEosManager(internals: Internals): void {
  const create = internals.load('src/producer/eosManager/index.js') as CreateEosManager
  const createGuarded: CreateEosManager = (options) => {
    const known = new Map<string, Broker>()
    const cluster = Object.create(options.cluster, {
      retry: { value: FENCE_RETRY },
      findGroupCoordinator: {
        value: async (query: CoordinatorQuery) => {
          const name = `${String(query.coordinatorType)} ${query.groupId}`
          const remembered = manager.isInitialized() ? known.get(name) : undefined
          if (remembered?.isConnected() === true) return remembered
          const found = await options.cluster.findGroupCoordinator(query)
          known.set(name, found)
          return found
        },
      },
    }) as Cluster
    const manager = create({ ...options, cluster })
    return manager
  }
  internals.replace('src/producer/eosManager/index.js', createGuarded)
}
