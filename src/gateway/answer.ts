import type { ServerResponse } from 'node:http'
import type { Answer } from '../providers/provider.ts'

/** An answer with its header lines ready to be written. */
export interface PreparedAnswer {
  readonly status: number
  readonly headers: readonly string[]
  readonly body: string
}

export const prepare = ({ status, contentType, body }: Answer): PreparedAnswer => ({
  status,
  headers: ['content-type', contentType, 'content-length', String(Buffer.byteLength(body))],
  body,
})

/** The same bytes for an unknown provider, an unknown merchant and an unknown path. */
export const NOT_FOUND = prepare({ status: 404, contentType: 'text/plain', body: 'not found\n' })

/** @returns false if nobody listens any more; writing then would raise an error event. */
export function send(response: ServerResponse, answer: PreparedAnswer, keepAlive: boolean): boolean {
  if (response.destroyed || response.headersSent) return false
  if (!keepAlive) response.shouldKeepAlive = false
  response.writeHead(answer.status, answer.headers as string[])
  response.end(answer.body)
  return true
}
