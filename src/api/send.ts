import type { ServerResponse } from 'node:http'
import { problemOf, REFUSALS, RETRY_AFTER_SEC, type Refusal } from './refusal.ts'
import type { ApiAnswer } from './route.ts'

const CLOSE = { connection: 'close' }
const ALWAYS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

export const statusOf = (answer: ApiAnswer) =>
  answer.kind === 'answer' ? answer.status : REFUSALS[answer.refusal.kind].status

export interface SendOptions {
  /** Goes into a problem's `instance`, so that a caller's report finds the log line. */
  readonly requestId: string
  readonly keepAlive: boolean
}

export function send(response: ServerResponse, answer: ApiAnswer, { requestId, keepAlive }: SendOptions): void {
  if (response.headersSent || response.destroyed) return
  const refused = answer.kind === 'refused'
  const body = Buffer.from(`${JSON.stringify(refused ? problemOf(answer.refusal, requestId) : answer.body)}\n`)
  response.writeHead(statusOf(answer), {
    ...ALWAYS,
    'content-type': refused ? 'application/problem+json' : 'application/json',
    'content-length': body.length,
    ...(refused ? headersOf(answer.refusal) : answer.headers),
    ...(keepAlive ? {} : CLOSE),
  })
  response.end(body)
}

function headersOf({ kind }: Refusal): Record<string, string> {
  // A refusal may come before the body was read: the rest of it is not waited for.
  if (kind === 'unauthenticated') return { ...CLOSE, 'www-authenticate': 'Bearer' }
  if (REFUSALS[kind].status === 503) return { ...CLOSE, 'retry-after': String(RETRY_AFTER_SEC) }
  return kind === 'too_large' || kind === 'unsupported_media_type' || kind === 'forbidden' ? CLOSE : {}
}
