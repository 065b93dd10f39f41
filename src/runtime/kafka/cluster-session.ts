import type { Log } from '../log.ts'
import { kafkaFor, type KafkaSettings } from './connection.ts'
import { withDeadline } from './deadline.ts'
import { delay } from './delay.ts'

/** What kafkajs' own clients ask of a broker; it has no types for it. */
export interface RawBroker {
  readonly fetch: (request: object) => Promise<{
    readonly responses: readonly { readonly partitions: readonly { readonly partition: number }[] }[]
  }>
  /** By api key. */
  readonly versions: Readonly<Record<number, { readonly maxVersion: number } | undefined>>
  readonly connectionPool: {
    readonly getConnection: () => Promise<{ readonly send: (call: object) => Promise<unknown> }>
  }
}
export interface RawCluster {
  readonly connect: () => Promise<void>
  readonly disconnect: () => Promise<void>
  readonly addTargetTopic: (topic: string) => Promise<void>
  readonly refreshMetadata: () => Promise<void>
  readonly findLeaderForPartitions: (topic: string, partitions: number[]) => Record<string, number[]>
  readonly findBroker: (node: { nodeId: string }) => Promise<RawBroker>
  readonly findControllerBroker: () => Promise<RawBroker>
}

export interface ClusterSession {
  /** Runs `work`, again on a new connection when it fails, unless that is final or the deadline has passed. */
  readonly run: <T>(
    what: string,
    work: (cluster: RawCluster) => Promise<T>,
    finalOf?: (error: unknown) => Error | undefined,
  ) => Promise<T>
  readonly close: () => Promise<void>
}

const DEADLINE_MS = 30_000
const TRY_MS_MAX = 10_000
const BACKOFF_MS_MAX = 1_000

/** For the requests that kafkajs' clients do not offer. */
export function createClusterSession(settings: KafkaSettings, clientId: string, log: Log): ClusterSession {
  const kafka = kafkaFor(settings, clientId, log)
  let current: Promise<RawCluster> | undefined
  let isClosed = false

  const connect = async () => {
    const cluster = clusterOf(kafka)
    await cluster.connect()
    return cluster
  }
  const discard = (session: Promise<RawCluster>) => {
    if (current === session) current = undefined
    session.then((cluster) => cluster.disconnect()).catch(() => undefined)
  }
  return {
    run: async (what, work, finalOf) => {
      const startedMs = performance.now()
      for (let tries = 1; ; tries++) {
        if (isClosed) throw new Error('the connection to Kafka is closed')
        const session = (current ??= connect())
        try {
          return await withDeadline(session.then(work), TRY_MS_MAX, what)
        } catch (error) {
          discard(session)
          const final = finalOf?.(error)
          if (final !== undefined) throw final
          if (performance.now() - startedMs > DEADLINE_MS) throw error
          await delay(Math.min(20 * 2 ** tries, BACKOFF_MS_MAX) * (0.5 + Math.random() / 2))
        }
      }
    },
    close: () => {
      isClosed = true
      if (current !== undefined) discard(current)
      return Promise.resolve()
    },
  }
}

const READ_COMMITTED = 1

/** kafkajs keeps the one way to a plain connection under a symbol. */
function clusterOf(kafka: object): RawCluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  )
  if (symbol === undefined) throw new Error('this kafkajs makes its clusters elsewhere')
  const create = (kafka as Record<symbol, (options: object) => RawCluster>)[symbol]
  if (create === undefined) throw new Error('this kafkajs makes no clusters')
  return create({ metadataMaxAge: 60_000, allowAutoTopicCreation: false, isolationLevel: READ_COMMITTED })
}
