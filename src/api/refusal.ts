/** Every way the api says no. Expected failures are values; `http-answer.ts` turns them into HTTP. */
export interface Refusal {
  readonly kind: RefusalKind
  /** The name of the body's field, header or parameter that is at fault, as the caller wrote it. */
  readonly field?: string
  /** What is wrong, for the caller: no foreign data, no SQL, no names of our parts. */
  readonly detail: string
  /** For programs, where one kind has several: `already_paid`. */
  readonly reason?: string
  /** What the caller can do about it. */
  readonly remedy?: string
  /** For the log only. */
  readonly cause?: unknown
}

/** Forget a status here and the file does not compile. */
export const REFUSALS = {
  malformed_body: { status: 400, title: 'The body is not what this route takes' },
  invalid_field: { status: 400, title: 'A field is missing or invalid' },
  unauthenticated: { status: 401, title: 'A valid bearer token is needed' },
  forbidden: { status: 403, title: 'The token does not allow this' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here' },
  order_differs: { status: 409, title: 'The order exists with another content' },
  order_archived: { status: 409, title: 'The order is finished and archived' },
  command_refused: { status: 409, title: 'The order does not allow this' },
  too_many_brakes: { status: 409, title: 'As many brakes as may be are set' },
  too_many_replays: { status: 409, title: 'As many replays as may be are not sent yet' },
  order_gone: { status: 410, title: 'The order was archived and its archive is gone' },
  too_large: { status: 413, title: 'The request is too large' },
  unsupported_media_type: { status: 415, title: 'The content type is not supported' },
  idempotency_key_reused: { status: 422, title: 'The idempotency key was used for another command' },
  command_failed: { status: 500, title: 'The command failed' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  order_busy: { status: 503, title: 'The order is being worked on' },
  overloaded: { status: 503, title: 'Too many requests at once' },
  not_ready: { status: 503, title: 'Not ready' },
  database_unavailable: { status: 503, title: 'The database is not available' },
} as const satisfies Record<string, { status: number; title: string }>
export type RefusalKind = keyof typeof REFUSALS

export const ORDER_BUSY: Refusal = {
  kind: 'order_busy',
  detail: 'The order is being worked on.',
  remedy: 'Send it again.',
}

/** After this many seconds a 503 is worth another try. */
export const RETRY_AFTER_SEC = 1

/** A problem document (RFC 9457). `type` is a name, not an address: docs/api.md lists them. */
export function problemOf(refusal: Refusal, instance?: string) {
  const { status, title } = REFUSALS[refusal.kind]
  return {
    type: `urn:paidonce:problem:${refusal.kind}`,
    title,
    status,
    detail: refusal.detail,
    ...(refusal.field === undefined ? {} : { field: refusal.field }),
    ...(refusal.reason === undefined ? {} : { reason: refusal.reason }),
    ...(refusal.remedy === undefined ? {} : { remedy: refusal.remedy }),
    ...(instance === undefined ? {} : { instance: `urn:uuid:${instance}` }),
  }
}
