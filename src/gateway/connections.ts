import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** How many connections there are, and whether an answer may leave its own open. */
export interface Connections {
  readonly mayKeepAlive: () => boolean
  readonly countOn: (server: Server) => void
  /** From now on every answer ends its connection. */
  readonly drain: () => void
}

/**
 * Node drops connections above the limit without a word. So as room gets scarce each answer ends its connection, and
 * idle ones cannot take all of it.
 */
export function createConnections(connectionsMax: number): Connections {
  const crowded = Math.floor(connectionsMax * 0.9)
  let open = 0
  let draining = false
  return {
    mayKeepAlive: () => !draining && open <= crowded,
    countOn: (server) => {
      server.maxConnections = connectionsMax
      server.on('connection', (socket: Socket) => {
        open += 1
        socket.once('close', () => (open -= 1))
      })
    },
    drain: () => (draining = true),
  }
}
