import { isUtf8 } from 'node:buffer'
import { isFields } from '../fields.ts'
import type { QueryAnswer } from '../query.ts'
import { codeOf, exchange, refuse, systemError, type Arrived, type QueryMeans } from '../query-exchange.ts'
import { TOLERANCE_SEC } from '../freshness.ts'
import { parseStrictJson } from '../strict-json.ts'

export interface StripeCaller {
  readonly secretKey: string
  /** A connected account, whose payments are asked about. */
  readonly account: string | undefined
}

/** Whatever the account's own: since 2022-11-15 an intent has `latest_charge`, which is asked for. */
export const API_VERSION = '2025-09-30.clover'

/** Asks for one object or list of Stripe's; what is no such thing is the answer to the question. */
export async function askStripe(
  { secretKey, account }: StripeCaller,
  means: QueryMeans,
  path: string,
  signal: AbortSignal,
): Promise<(Arrived & { readonly body: unknown }) | QueryAnswer> {
  const headers = {
    ...{ accept: 'application/json', authorization: `Bearer ${secretKey}`, 'stripe-version': API_VERSION },
    ...(account === undefined ? {} : { 'stripe-account': account }),
  }
  const arrived = await exchange(means, { method: 'GET', path, headers }, signal)
  if (arrived.kind !== 'arrived') return arrived
  const { status, rawBody } = arrived
  const body = isUtf8(rawBody) ? parseStrictJson(rawBody.toString())?.value : undefined
  if (status === 200) return body === undefined ? refuse('malformed', 'body') : { ...arrived, body }
  const error = isFields(body) && isFields(body['error']) ? body['error'] : {}
  const code = codeOf(error['code'] ?? error['type'])
  if (status === 404 && code === 'resource_missing') return { kind: 'not_found' }
  // Another request held the object: https://docs.stripe.com/error-handling
  if (status === 409) return systemError()
  return refuse(status === 401 || status === 403 ? 'credentials' : 'provider_error', code)
}

/** What a list holds, or the name of the field for which it cannot be used; all of it must be on its one page. */
export function listIn(body: unknown): readonly unknown[] | string {
  if (!isFields(body) || !Array.isArray(body['data'])) return 'data'
  return body['has_more'] === false ? body['data'] : 'has_more'
}

/** When Stripe answered, by its own clock; by ours where it does not say, or says what cannot be. */
export function timeOf({ headers }: Arrived, now: Date): Date {
  const said = Date.parse(headers['date'] ?? '')
  return Math.abs(said - now.getTime()) <= TOLERANCE_SEC * 1_000 ? new Date(said) : now
}
