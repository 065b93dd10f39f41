import type { Clock } from '../runtime/clock.ts'
import type { CallbackRequest, Rejection } from './provider.ts'
import type { QueryAnswer, QueryClient, RefusedReason } from './query.ts'
import type { QueryHttp, QueryRequest } from './query-http.ts'
import { SAID_MS_MAX, type RateLimit } from './rate-limit.ts'

/** What a client of any provider asks with. */
export interface QueryMeans {
  readonly http: QueryHttp
  readonly limit: RateLimit
  readonly clock: Clock
}

/** An answer whose sender is not proven yet; in the form in which a callback is verified. */
export interface Arrived extends CallbackRequest {
  readonly kind: 'arrived'
  readonly status: number
}

/** Sends one request in its turn. What says nothing about the order, whatever the provider, has its answer already. */
export async function exchange(
  { http, limit, clock }: QueryMeans,
  request: QueryRequest,
  signal: AbortSignal,
): Promise<Arrived | QueryAnswer> {
  const waitMs = limit.take()
  if (waitMs > 0) return { kind: 'try_later', reason: 'rate_limited', afterMs: waitMs }
  const fetched = await http.send(request, signal)
  if (fetched.kind === 'failed') return { kind: 'try_later', reason: fetched.reason }
  if (fetched.kind === 'unusable') return refuse(fetched.reason)
  const saidMs = retryAfterMs(fetched.headers['retry-after'], clock.now())
  if (fetched.status === 429) return rateLimited(limit, saidMs)
  if (fetched.status >= 500) return systemError(saidMs)
  return { ...fetched, kind: 'arrived' }
}

/** A client whose provider counts as well again once it has answered: what is too much also comes under status 200. */
export const recovering = (client: QueryClient, { limit }: QueryMeans): QueryClient => ({
  ask: async (target, signal) => {
    const answer = await client.ask(target, signal)
    if (answer.kind === 'answered' || answer.kind === 'not_found') limit.recover()
    return answer
  },
})

/** The provider asks us to slow down: so does every question after this one. */
export const rateLimited = (limit: RateLimit, saidMs?: number): QueryAnswer => ({
  ...{ kind: 'try_later', reason: 'rate_limited' },
  afterMs: limit.slowDown(saidMs),
})

export const systemError = (afterMs?: number): QueryAnswer => ({
  ...{ kind: 'try_later', reason: 'system_error' },
  ...(afterMs === undefined ? {} : { afterMs }),
})

export const refuse = (reason: RefusedReason, field?: string): QueryAnswer =>
  field === undefined ? { kind: 'refused', reason } : { kind: 'refused', reason, field: field.slice(0, 128) }

/** What a refused signature comes to. Whoever signs wrongly on purpose, to see who checks, answers rightly next time. */
export function ofRejection(rejection: Rejection): QueryAnswer {
  switch (rejection.kind) {
    case 'signature_probe':
      return systemError()
    case 'missing_header':
    case 'repeated_header':
      return refuse(rejection.kind, rejection.header)
    case 'malformed':
    case 'wrong_recipient':
      return refuse(rejection.kind, rejection.field)
    case 'unknown_key':
      return refuse(rejection.kind, rejection.keyId)
    default:
      return refuse(rejection.kind)
  }
}

/** A provider's own code for what is wrong; nothing else that it wrote. */
export const codeOf = (code: unknown): string =>
  typeof code === 'string' && /^[A-Za-z0-9_.-]{1,64}$/.test(code) ? code : 'no code'

/**
 * Seconds, or a date, as a proxy on the way may say it (RFC 9110, 10.2.3). Whatever it says, an hour at most: longer ones
 * would put off an order's last question, or a held fact's, for good.
 */
function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined
  const saidMs = /^\d+$/.test(header)
    ? Number(header) * 1_000
    : DATE.test(header)
      ? Date.parse(header) - now.getTime()
      : NaN
  return Number.isNaN(saidMs) ? undefined : Math.min(Math.max(0, saidMs), SAID_MS_MAX)
}
const DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
