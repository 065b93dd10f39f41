import type { Socket } from 'node:net'
import type { Express } from 'express'
import type { Connections } from '../runtime/connections.ts'
import { listenAt } from '../runtime/listen.ts'
import { HEADER_LINES_MAX } from './callback-route.ts'
import { createLeanServer } from './lean-server.ts'
import { isAnswered } from './read-body.ts'

export interface PublicServer {
  readonly port: number
  /** Stops accepting, lets what is in flight be answered, and ends what is left after `graceMs`. */
  readonly close: (graceMs: number) => Promise<void>
}

export interface ServerLimits {
  readonly connections: Connections
  /** An idle connection is kept longer than the load balancer in front keeps it, or it resets requests. */
  readonly keepAliveMs: number
  /** A request that never became one: the parser or a time limit ended it. */
  readonly onBroken: (reason: 'timeout' | 'headers_too_large' | 'bad_request') => void
}

/** Node's own limits (60 s for headers, 300 s for a request) let a few slow senders hold everything. Checked twice a
 * second, so that even the slowest request has its end within 4 s. */
const HEADERS_MS_MAX = 2_000
const REQUEST_MS_MAX = 3_500
const HEADER_BYTES_MAX = 8_192
const BROKEN = {
  timeout: '408 Request Timeout',
  headers_too_large: '431 Request Header Fields Too Large',
  bad_request: '400 Bad Request',
} as const

/** Listens with limits on time, headers and connections. */
export async function listen(app: Express, port: number, limits: ServerLimits): Promise<PublicServer> {
  const server = createLeanServer(app, {
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: HEADERS_MS_MAX,
    requestTimeout: REQUEST_MS_MAX,
    connectionsCheckingInterval: 500,
    keepAliveTimeout: limits.keepAliveMs,
  })
  // One more than allowed: Node drops what is above its limit without a word, and we want to see it.
  server.maxHeadersCount = HEADER_LINES_MAX + 1
  limits.connections.countOn(server)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code !== 'ECONNRESET' && socket.writable) {
      const reason = reasonOf(error.code)
      limits.onBroken(reason)
      if (!isAnswered(socket)) socket.write(`HTTP/1.1 ${BROKEN[reason]}\r\nConnection: close\r\n\r\n`)
    }
    socket.destroy()
  })
  const listening = await listenAt(server, { port, variable: 'PORT' })

  return {
    port: listening,
    close: (graceMs) => limits.connections.drain(server, graceMs),
  }
}

function reasonOf(code: string | undefined): keyof typeof BROKEN {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'timeout'
  return code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'bad_request'
}
