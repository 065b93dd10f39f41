import { withDeadline } from '../deadline.ts'
import type { Internals } from './internals.ts'

interface Connection {
  readonly host: string
  readonly port: number
  readonly socket?: { readonly destroy: () => void }
  readonly rejectRequests: (error: Error) => void
  readonly disconnect: () => Promise<unknown>
}
interface Broker {
  readonly connectionPool: {
    readonly connectionTimeout: number
    readonly host: string
    readonly port: number
    readonly map: (act: (connection: Connection) => void) => void
  }
}
type ConnectionErrors = Record<
  'KafkaJSConnectionError' | 'KafkaJSConnectionClosedError',
  new (message: string, where: object) => Error
>

/**
 * A broker that is frozen or has lost its network goes silent: the kernel still accepts connections, nothing answers.
 * Stock kafkajs keeps such a connection after a request has timed out on it, and asks a silent first broker of its list
 * again and again, never the next. Here, as in Kafka's own client, a timed-out request ends its connection, and a
 * handshake that takes longer than the connection timeout counts as no connection, so that another broker is tried.
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

  const connections = internals.load('src/network/connection.js') as {
    prototype: { send: (this: Connection, request: unknown) => Promise<unknown> }
  }
  const send = connections.prototype.send
  connections.prototype.send = async function (request) {
    try {
      return await send.call(this, request)
    } catch (error) {
      if ((error as Error).name === 'KafkaJSRequestTimeoutError') drop(this)
      throw error
    }
  }

  const brokers = internals.load('src/broker/index.js') as {
    prototype: { connect: (this: Broker) => Promise<void> }
  }
  const connect = brokers.prototype.connect
  brokers.prototype.connect = async function () {
    const { connectionTimeout, host, port } = this.connectionPool
    try {
      await withDeadline(connect.call(this), connectionTimeout, 'The handshake')
    } catch (error) {
      const { name, message } = error as Error
      if (name !== 'DeadlinePassed' && name !== 'KafkaJSRequestTimeoutError') throw error
      this.connectionPool.map(drop)
      throw new KafkaJSConnectionError(message, { broker: `${host}:${String(port)}` })
    }
  }
}
