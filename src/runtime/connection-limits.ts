import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What one connection may do. Node has no limit on any of it: none of its timeouts looks at an answer. */
export interface ConnectionLimits {
  /** How long an answer may lie here that the other side does not read, though it may read others. */
  readonly unreadMsMax: number
  /** After so many requests the answer ends the connection, as a proxy's does (1,000 in nginx). */
  readonly requestsMax: number
  /** Requests that came before the answer to the one before them. No proxy sends any such. */
  readonly pipelinedMax: number
}

export const CONNECTION_LIMITS: ConnectionLimits = { unreadMsMax: 5_000, requestsMax: 10_000, pipelinedMax: 16 }
const LOOKS = 5

/**
 * Why a connection was ended for what it did, or for want of room. `unread`: it did not read its answers. `requests`: it
 * had as many as one may. `pipelined`: it sent too many ahead of their answers. `crowded`: few more are allowed, so the
 * answer ended it. `full`: as many as are allowed were there, so it was never taken.
 */
export const CONNECTION_ENDS = ['unread', 'requests', 'pipelined', 'crowded', 'full'] as const
export type ConnectionEnd = (typeof CONNECTION_ENDS)[number]
export type OnConnectionEnd = (reason: ConnectionEnd) => void

interface State {
  requests: number
  pipelined: number
  /** In how many looks, one after another, something was not read. */
  unread: number
}

/**
 * Ends connections that never would: whoever sends and does not read is held back by Node, with what it keeps for him,
 * for ever. A look at all of them five times in the limit costs less than a timer for each, which every request would
 * start again.
 */
export function limitConnections(server: Server, limits: ConnectionLimits, onEnd: OnConnectionEnd): void {
  const { unreadMsMax, requestsMax, pipelinedMax } = limits
  const open = new Map<Socket, State>()
  server.on('connection', (socket: Socket) => {
    open.set(socket, { requests: 0, pipelined: 0, unread: 0 })
    socket.once('close', () => open.delete(socket))
  })
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const state = open.get(socket)
    if (state === undefined) return
    if (++state.requests >= requestsMax) response.shouldKeepAlive = false
    if (state.requests === requestsMax) onEnd('requests')
    // Without a socket it has to wait for the answers before it.
    state.pipelined = response.socket === null ? state.pipelined + 1 : 0
    if (state.pipelined > pipelinedMax) end(socket, 'pipelined')
  })
  const end = (socket: Socket, reason: ConnectionEnd) => {
    // What came in one piece is parsed to its end, whatever becomes of the socket meanwhile.
    if (!socket.destroyed) onEnd(reason)
    socket.destroy()
  }
  const timer = setInterval(() => {
    for (const [socket, state] of open) {
      state.unread = socket.writableLength === 0 ? 0 : state.unread + 1
      if (state.unread > LOOKS) end(socket, 'unread')
    }
  }, unreadMsMax / LOOKS).unref()
  server.on('close', () => clearInterval(timer))
}
