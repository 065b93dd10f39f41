import { withDeadline } from '../deadline.ts'
import type { Internals } from './internals.ts'

interface Connection {
  readonly host: string
  readonly port: number
  readonly socket?: { readonly destroy: () => void }
  readonly rejectRequests: (error: Error) => void
  readonly disconnect: () => Promise<unknown>
}
interface ConnectionPool {
  readonly connectionTimeout: number
  readonly host: string
  readonly port: number
  readonly map: (act: (connection: Connection) => void) => void
}
interface Broker {
  readonly connectionPool: ConnectionPool
  /** Null: to be asked for when connecting. */
  versions: object | null
}
interface Sent {
  readonly request: { readonly apiKey: number }
}
/** What kafkajs asks a broker first. */
const API_VERSIONS = 18
type ConnectionErrors = Record<
  'KafkaJSConnectionError' | 'KafkaJSConnectionClosedError',
  new (message: string, where: object) => Error
>

/**
 * A broker that is frozen or has lost its network goes silent: the kernel still accepts connections, nothing answers.
 * Stock kafkajs keeps such a connection after a request has timed out on it, connects again without a handshake, as it
 * knows the broker's versions by then, and so finds the silent one connected for ever: as a leader for ten fetches, as
 * the first of its list at every restart (78 s of three brokers' consumer were seen). Here, as in Kafka's own client,
 * which has one connection to a broker, a timed-out request ends both of its broker's (a JoinGroup would wait for 65 s
 * behind the fetch), nothing is sent before the broker has answered a handshake, and one that takes longer than the
 * connection timeout counts as no connection, so that another broker is tried.
 */
export function guardSilentBroker(internals: Internals): void {
  const { KafkaJSConnectionError, KafkaJSConnectionClosedError } = internals.load('src/errors.js') as ConnectionErrors
  const drop = (connection: Connection) => {
    const { host, port } = connection
    connection.rejectRequests(new KafkaJSConnectionClosedError('Dropped a silent connection', { host, port }))
    // Ends at once: nothing is pending any more. A silent peer would never answer the socket's own farewell.
    void connection.disconnect()
    connection.socket?.destroy()
  }

  const silent = new WeakSet<ConnectionPool>()
  const pools = internals.load('src/network/connectionPool.js') as {
    prototype: { send: (this: ConnectionPool, sent: Sent) => Promise<unknown> }
  }
  const send = pools.prototype.send
  pools.prototype.send = async function (sent) {
    if (silent.has(this) && sent.request.apiKey !== API_VERSIONS) {
      const { host, port } = this
      throw new KafkaJSConnectionClosedError('The broker has gone silent', { host, port })
    }
    try {
      return await send.call(this, sent)
    } catch (error) {
      if ((error as Error).name === 'KafkaJSRequestTimeoutError') {
        silent.add(this)
        this.map(drop)
      }
      throw error
    }
  }

  const brokers = internals.load('src/broker/index.js') as {
    prototype: { connect: (this: Broker) => Promise<void> }
  }
  const connect = brokers.prototype.connect
  brokers.prototype.connect = async function () {
    const { connectionTimeout, host, port } = this.connectionPool
    if (silent.has(this.connectionPool)) this.versions = null
    try {
      await withDeadline(connect.call(this), connectionTimeout, 'The handshake')
      silent.delete(this.connectionPool)
    } catch (error) {
      const { name, message } = error as Error
      if (name !== 'DeadlinePassed' && name !== 'KafkaJSRequestTimeoutError') throw error
      this.connectionPool.map(drop)
      throw new KafkaJSConnectionError(message, { broker: `${host}:${String(port)}` })
    }
  }
}
