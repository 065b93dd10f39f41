/** The headers of the OpenAPI document: what is sent with a command, and what comes back beside the body. */

const KEY = '^[\\x21-\\x7e]{1,128}$'
export const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'A new UUID with each new command, and the same one when the command is sent again.',
  schema: { type: 'string', pattern: KEY },
} as const

export const SENT_HEADERS = {
  Location: { description: 'Where to ask what becomes of it.', schema: { type: 'string' } },
  RetryAfter: { description: 'Seconds.', schema: { type: 'integer', minimum: 1 } },
  WwwAuthenticate: { schema: { const: 'Bearer' } },
} as const

const ref = (name: keyof typeof SENT_HEADERS) => ({ $ref: `#/components/headers/${name}` })

export function answerHeaders(status: number, hasLocation: boolean): { readonly headers?: Record<string, unknown> } {
  const headers = {
    ...(hasLocation ? { Location: ref('Location') } : {}),
    ...(status === 401 ? { 'WWW-Authenticate': ref('WwwAuthenticate') } : {}),
    ...(status === 503 || (status === 202 && hasLocation) ? { 'Retry-After': ref('RetryAfter') } : {}),
  }
  return Object.keys(headers).length === 0 ? {} : { headers }
}
