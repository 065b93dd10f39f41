import { request, type Agent } from 'node:http'
import { connect, type Socket } from 'node:net'

export interface HttpAnswer {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly body: Buffer
}

/** One connection per request unless `agent` says otherwise. Rejects when the connection ends without an answer. */
export function post(
  port: number,
  { path, headers, rawBody }: { path: string; headers: Readonly<Record<string, string | string[]>>; rawBody: Buffer },
  options: { method?: string; agent?: Agent } = {},
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        ...{ host: '127.0.0.1', port, path, method: options.method ?? 'POST', agent: options.agent ?? false },
        headers: { 'content-length': String(rawBody.length), ...headers },
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
        )
      },
    )
    sent.on('error', reject)
    sent.end(rawBody)
  })
}

/** A raw connection: bytes as they are, and all that comes back. */
export interface RawConnection {
  readonly socket: Socket
  readonly write: (text: string | Buffer) => void
  readonly received: () => string
  /** Resolves when the other side has closed, with all that it sent. */
  readonly closed: Promise<string>
}

export async function rawConnection(port: number): Promise<RawConnection> {
  const socket = connect({ host: '127.0.0.1', port })
  let received = ''
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => (received += text))
  const closed = new Promise<string>((resolve) => {
    socket.on('close', () => resolve(received))
  })
  socket.on('error', () => undefined)
  await new Promise((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  return { socket, write: (text) => void socket.write(text), received: () => received, closed }
}

/** The head of a request, as bytes on the wire; the body follows. */
export const head = (path: string, headers: Readonly<Record<string, string | number>>) =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`
