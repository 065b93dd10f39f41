import type { Server } from 'node:http'
import { Server as TcpServer, type Socket } from 'node:net'
import {
  CONNECTION_LIMITS,
  limitConnections,
  type ConnectionLimits,
  type OnConnectionEnd,
} from './connection-limits.ts'

/** How many connections a server has, whether an answer may leave its own open, and how they end. */
export interface Connections {
  /** Asked once for each answer. */
  readonly mayKeepAlive: () => boolean
  /** Counts them, and limits what each may do. */
  readonly countOn: (server: Server) => void
  /**
   * Accepts no more connections and lets every answer end its own. Resolves when none is left; whatever is unanswered
   * after `graceMs` is cut off.
   */
  readonly drain: (server: Server, graceMs: number) => Promise<void>
}

/** A connection that carried no request for so long after the stop began is idle, and not between two requests. */
const LULL_MS = 1_000
const SWEEP_MS = 50

/**
 * Node drops connections above the limit without a word to the other side. So as room gets scarce each answer ends its connection, and
 * idle ones cannot take all of it.
 */
export function createConnections(
  connectionsMax: number,
  onEnd: OnConnectionEnd = () => undefined,
  limits: ConnectionLimits = CONNECTION_LIMITS,
): Connections {
  const crowded = Math.floor(connectionsMax * 0.9)
  let open = 0
  let draining = false
  return {
    mayKeepAlive: () => {
      if (draining) return false
      if (open > crowded) onEnd('crowded')
      return open <= crowded
    },
    countOn: (server) => {
      server.maxConnections = connectionsMax
      limitConnections(server, limits, onEnd)
      server.on('drop', () => onEnd('full'))
      server.on('connection', (socket: Socket) => {
        open += 1
        socket.once('close', () => (open -= 1))
      })
    },
    drain: (server, graceMs) =>
      new Promise((resolve) => {
        draining = true
        let sweep = setTimeout(() => {
          sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
        }, LULL_MS)
        const end = setTimeout(() => server.closeAllConnections(), graceMs)
        // The HTTP server's own close() would first destroy what is idle at this instant, and with it a request that is
        // on its way; and it would stop looking for senders that are too slow.
        TcpServer.prototype.close.call(server, () => {
          clearTimeout(sweep)
          clearTimeout(end)
          server.close()
          resolve()
        })
      }),
  }
}
