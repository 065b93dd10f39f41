import { Agent as HttpAgent, request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'

export interface QueryRequest {
  readonly method: 'GET' | 'POST'
  /** With its query, as it is signed: it goes out as it is here. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** What came back; or why nothing that can be used did. */
export type Fetched =
  | {
      readonly kind: 'response'
      readonly status: number
      /** Lower-case; a header sent twice is not here but in `repeatedHeaders`. */
      readonly headers: Readonly<Record<string, string>>
      readonly repeatedHeaders: readonly string[]
      readonly rawBody: Buffer
    }
  | { readonly kind: 'failed'; readonly reason: 'timeout' | 'network' }
  | { readonly kind: 'unusable'; readonly reason: 'redirect' | 'too_large' | 'encoded' }

export interface QueryHttp {
  readonly send: (request: QueryRequest, signal: AbortSignal) => Promise<Fetched>
}

const SOCKETS_MAX = 32
const IDLE_MS = 30_000
const OPTIONS = { keepAlive: true, maxSockets: SOCKETS_MAX, maxFreeSockets: 8, timeout: IDLE_MS }

/** Connections that all clients share, kept open between questions: a TLS handshake costs more than an answer. */
export const createAgents = () => ({ 'http:': new HttpAgent(OPTIONS), 'https:': new HttpsAgent(OPTIONS) })
export type Agents = ReturnType<typeof createAgents>

/**
 * HTTP to one provider's address. `node:http` and not `fetch`: it follows no redirect, gives each header as it was sent
 * (a signature sent twice is seen), and bytes as they came, which is what a provider signs; its agent bounds sockets
 * for each address, and whoever waits for one waits within the deadline.
 */
export function createQueryHttp(options: {
  readonly baseUrl: URL
  readonly timeoutMs: number
  readonly bodyBytesMax: number
  readonly agents: Agents
}): QueryHttp {
  const { baseUrl, timeoutMs, bodyBytesMax, agents } = options
  const isTls = baseUrl.protocol === 'https:'
  const place = {
    hostname: baseUrl.hostname.replace(/^\[|\]$/g, ''),
    port: baseUrl.port === '' ? undefined : Number(baseUrl.port),
    agent: isTls ? agents['https:'] : agents['http:'],
  }
  const prefix = baseUrl.pathname.replace(/\/$/, '')
  const once = ({ method, path, headers, body }: QueryRequest, signal: AbortSignal) =>
    exchange(
      isTls ? requestHttps : requestHttp,
      {
        ...place,
        ...{ method, signal, path: prefix + path },
        headers: {
          ...{ 'user-agent': 'paidonce', 'accept-encoding': 'identity' },
          ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
          ...headers,
        },
      },
      body,
      bodyBytesMax,
    )
  return {
    send: async (request, signal) => {
      const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
      const first = await once(request, within)
      // The other side closes idle connections too, at the same moment perhaps. A question may be asked again.
      const last = first.kind === 'stale_socket' ? await once(request, within) : first
      return last.kind === 'stale_socket' ? { kind: 'failed', reason: 'network' } : last
    },
  }
}

function exchange(
  start: typeof requestHttp,
  options: RequestOptions,
  body: string | undefined,
  bodyBytesMax: number,
): Promise<Fetched | { readonly kind: 'stale_socket' }> {
  return new Promise((resolve) => {
    if (options.signal?.aborted === true) {
      resolve({ kind: 'failed', reason: 'timeout' })
      return
    }
    const request = start(options)
    const failed = () => {
      resolve({ kind: 'failed', reason: options.signal?.aborted === true ? 'timeout' : 'network' })
    }
    let hasAnswered = false
    request.once('response', (response) => {
      hasAnswered = true
      collect(response, bodyBytesMax).then(resolve, failed)
    })
    request.on('error', () => {
      const isStale = request.reusedSocket && !hasAnswered && options.signal?.aborted !== true
      if (isStale) resolve({ kind: 'stale_socket' })
      else if (!hasAnswered) failed()
    })
    request.once('close', () => {
      if (!hasAnswered) failed()
    })
    request.end(body)
  })
}

/** Rejects if the answer ends before its end. */
async function collect(response: IncomingMessage, bytesMax: number): Promise<Fetched> {
  const status = response.statusCode ?? 0
  const unusable = (reason: 'redirect' | 'too_large' | 'encoded') => {
    response.destroy()
    return { kind: 'unusable', reason } as const
  }
  if (status >= 300 && status < 400) return unusable('redirect')
  if ((response.headers['content-encoding'] ?? 'identity') !== 'identity') return unusable('encoded')
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > bytesMax) return unusable('too_large')
    chunks.push(chunk)
  }
  if (!response.complete) throw new Error('the answer was cut off')
  return { kind: 'response', status, ...headersOf(response), rawBody: Buffer.concat(chunks) }
}

function headersOf({ rawHeaders }: IncomingMessage) {
  const headers = new Map<string, string>()
  const repeated = new Set<string>()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    if (headers.has(name)) repeated.add(name)
    headers.set(name, rawHeaders[at + 1] ?? '')
  }
  for (const name of repeated) headers.delete(name)
  return { headers: Object.fromEntries(headers), repeatedHeaders: [...repeated] }
}
