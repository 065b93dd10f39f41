import type { ServerResponse } from 'node:http'
import { problemOf, REFUSALS, RETRY_AFTER_SEC, type Refusal } from './refusal.ts'
import type { ApiAnswer } from './route.ts'

const ALWAYS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

export const statusOf = (answer: ApiAnswer) =>
  answer.kind === 'answer' ? answer.status : REFUSALS[answer.refusal.kind].status

/** @param requestId goes into a problem's `instance`, so that a caller's report finds the log line. */
export function send(response: ServerResponse, answer: ApiAnswer, requestId: string): void {
  if (response.headersSent || response.destroyed) return
  const refused = answer.kind === 'refused'
  const body = Buffer.from(`${JSON.stringify(refused ? problemOf(answer.refusal, requestId) : answer.body)}\n`)
  response.writeHead(statusOf(answer), {
    ...ALWAYS,
    'content-type': refused ? 'application/problem+json' : 'application/json',
    'content-length': body.length,
    ...(refused ? headersOf(answer.refusal) : answer.headers),
  })
  response.end(body)
}

function headersOf({ kind }: Refusal): Record<string, string> {
  // A refusal may come before the body was read: the rest of it is not waited for.
  const close = { connection: 'close' }
  if (kind === 'unauthenticated') return { ...close, 'www-authenticate': 'Bearer' }
  if (REFUSALS[kind].status === 503) return { ...close, 'retry-after': String(RETRY_AFTER_SEC) }
  return kind === 'too_large' || kind === 'unsupported_media_type' || kind === 'forbidden' ? close : {}
}
