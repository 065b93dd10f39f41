import { z } from 'zod'

/** What every section of QUERY_KEYS_DIR may say. */
export interface QuerySection {
  readonly baseUrl: URL
  readonly timeoutMs: number
  readonly requestsPerSec: number
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** https; to the same machine http will do, as nobody else hears it. */
export function safeUrl(text: unknown): URL | undefined {
  const url = typeof text === 'string' ? URL.parse(text) : null
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname))
  return url !== null && isSafe && url.username + url.password === '' ? url : undefined
}

const baseUrl = z.string().transform((text, context) => {
  const url = safeUrl(text)
  if (url !== undefined && url.search + url.hash === '') return url
  // The text is not shown: somebody may have put a password there.
  const message =
    'must be an https address without user, query and fragment; http only to 127.0.0.1, [::1] or localhost'
  context.addIssue({ code: 'custom', message })
  return z.NEVER
})

/** Far below what the providers are known to allow, so that whoever else asks under the same account is not held up. */
const REQUESTS_PER_SEC = 10

/** @param address the provider's own */
export const querySection = (address: string) => ({
  baseUrl: baseUrl.prefault(address),
  /** From the question to the last byte of the answer. */
  timeoutMs: z.int().min(100).max(60_000).default(10_000),
  requestsPerSec: z.number().min(0.01).max(1_000).default(REQUESTS_PER_SEC),
})

/** Says what is wrong in a section, at which of its fields. */
export type Problem = (message: string, field?: string) => void

/** The one that a section names, or the only one that there is; says so if it is none of them, or not clear. */
export function oneOf(
  named: string | undefined,
  all: ReadonlySet<string>,
  { field, list, problem }: { readonly field: string; readonly list: string; readonly problem: Problem },
): string | undefined {
  if (named !== undefined && !all.has(named)) problem(`is not among ${list} in MERCHANTS_DIR`, field)
  if (named === undefined && all.size > 1)
    problem(`must be set: MERCHANTS_DIR has ${all.size} ${list}, and a question is asked for one of them`, field)
  return named ?? [...all][0]
}
