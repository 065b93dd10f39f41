import type { CallbackRequest, Rejection, Verdict } from '../provider.ts'
import { bodyForm } from './body-form.ts'
import type { Seen } from './distortion.ts'
import { escapedBytes, type EscapedBytes } from './escaped.ts'
import { hintsOf } from './hints.ts'
import { refusalWords, type Words } from './refusal-words.ts'
import { search, type Bound, type Bounds, type Effort, type Found } from './search.ts'

export type { Bound } from './search.ts'

/** Why a request is refused. */
export interface Cause extends Words {
  /** A distortion's name, `other_key`, `ended_key`, `other_merchant`, `other_provider`, or the refusal's kind. */
  readonly fault: string
  /** Where, in a few words. */
  readonly how: string | null
}

export interface KeyTried {
  readonly id: string
  readonly fingerprint: string | null
  readonly validUntil: string | null
  /** `restored`: it made the signature over the request as it was before. */
  readonly result: 'made it' | 'made it, but has ended' | 'made it before the change' | 'did not make it'
}

export interface Explanation {
  readonly provider: string
  readonly merchant: string
  readonly at: string
  readonly verdict: Verdict
  readonly named: string | null
  readonly signedAt: string | null
  /** What the signature would be over, as the request is now; null if a part of it is missing. */
  readonly canonical: EscapedBytes | null
  readonly keys: readonly KeyTried[]
  /** In the order in which things happened; empty where it is verified, or nothing explains it. */
  readonly causes: readonly Cause[]
  /** Who signed it, where the causes' way back leads to a good signature. */
  readonly signedBy: { readonly provider: string; readonly merchant: string; readonly key: string } | null
  /** The same request before the change: what the signature is over, and what the gateway would have said. */
  readonly before: { readonly canonical: EscapedBytes | null; readonly verdict: Verdict } | null
  readonly hints: readonly string[]
  readonly effort: Effort
}

/**
 * Explains a saved request: the verdict, and where it is refused, what must have happened for its signature to be good.
 * @param others every other provider and merchant that we hold keys of
 * @param options.hide takes secrets out of a text
 */
export function explain(
  saved: Pick<Seen, 'request' | 'query' | 'repeated'>,
  addressed: Bound,
  others: readonly Bound[],
  now: Date,
  options: Omit<Bounds, 'thorough'> & { readonly hide: (text: string) => string },
): Explanation {
  const { hide, ...bounds } = options
  const { inspect, signedHeaders, verify } = addressed.bound
  const { request } = saved
  const verdict = verify(request, now)
  const seen: Seen = { ...saved, signedHeaders, form: bodyForm(addressed.provider) }
  const { found, effort } =
    verdict.kind === 'verified' || isProbe(verdict)
      ? { found: undefined, effort: { tried: 1, complete: true } }
      : search(seen, addressed, others, { ...bounds, thorough: THOROUGH.has(verdict.rejection.kind) })
  const signedAtSec = inspect.signedAtSec(request)
  const before = found === undefined || found.steps.length === 0 ? null : found.request
  const decided = verdict.kind === 'verified' || found !== undefined || verdict.rejection.kind !== 'bad_signature'
  return {
    provider: addressed.provider,
    merchant: addressed.merchant,
    at: now.toISOString(),
    verdict,
    named: inspect.namedKey(request)?.slice(0, 128) ?? null,
    signedAt: signedAtSec === undefined ? null : isoOf(signedAtSec * 1_000),
    canonical: canonicalOf(addressed, request, hide),
    keys: inspect.keys.map(({ id, fingerprint, validToMs }): KeyTried => {
      const made = inspect.verifies(request, id)
      const madeBefore = found?.by === addressed && before !== null && inspect.verifies(before, id)
      const result = made
        ? validToMs < now.getTime()
          ? 'made it, but has ended'
          : 'made it'
        : madeBefore
          ? 'made it before the change'
          : 'did not make it'
      return { id, fingerprint, validUntil: isoOf(validToMs), result }
    }),
    causes: verdict.kind === 'verified' ? [] : causesOf(verdict.rejection, addressed, found, now),
    signedBy: found === undefined ? null : { ...nameOf(found.by), key: found.keyId },
    before:
      before === null || found === undefined
        ? null
        : { canonical: canonicalOf(found.by, before, hide), verdict: found.by.bound.verify(before, now) },
    hints: decided ? [] : hintsOf(seen),
    effort,
  }
}

/** Where a header or the key is missing, the order of the body is not what is wrong. */
const THOROUGH: ReadonlySet<Rejection['kind']> = new Set(['bad_signature', 'stale'])

/** Whether the cause is proven, or the refusal says all; else nobody can tell a forgery from an unknown fault. */
export const isDecided = ({ verdict, causes }: Explanation): boolean => verdict.kind === 'verified' || causes.length > 0

function causesOf(rejection: Rejection, addressed: Bound, found: Found | undefined, now: Date): Cause[] {
  const refusal = (kind = rejection): Cause => ({ fault: kind.kind, how: null, ...refusalWords(kind) })
  if (found === undefined) return rejection.kind === 'bad_signature' ? [] : [refusal()]
  const causes = found.steps.map(({ distortion: { fault, words, remedy }, how }): Cause => {
    return { fault, words, remedy, how: how ?? null }
  })
  const key = keyCause(addressed, found, now)
  if (key !== undefined) causes.unshift(key)
  // What would still be wrong: a saved request that is judged later, a key that has ended, another merchant's order.
  const rest = found.by.bound.verify(found.request, now)
  const isSaid =
    rest.kind === 'refused' && (rest.rejection.kind === 'unknown_key' || rest.rejection.kind === 'bad_signature')
  if (rest.kind === 'refused' && !(isSaid && key !== undefined)) causes.push(refusal(rest.rejection))
  return causes
}

/** What is wrong with the key that made the signature. */
function keyCause(addressed: Bound, { by, keyId, request }: Found, now: Date): Cause | undefined {
  const { provider, merchant } = by
  if (merchant !== addressed.merchant)
    return {
      fault: 'other_merchant',
      how: merchant,
      words: `It was signed for another merchant, ${merchant} (${provider}), and sent to ${addressed.merchant}.`,
      remedy: `Set the notify address of ${merchant} to /callbacks/${provider}/${merchant}; or their keys are mixed up in the files.`,
    }
  if (provider !== addressed.provider)
    return {
      fault: 'other_provider',
      how: provider,
      words: `It is a message of ${provider}, and was sent to ${addressed.provider}.`,
      remedy: `Set its notify address to /callbacks/${provider}/${merchant}.`,
    }
  const key = by.bound.inspect.keys.find(({ id }) => id === keyId)
  if (key !== undefined && key.validToMs < now.getTime())
    return {
      fault: 'ended_key',
      how: keyId,
      words: `It was signed with ${keyId}, which ended at ${isoOf(key.validToMs) ?? 'some time'}.`,
      remedy:
        'If the provider still signs with it, extend its validUntil; a certificate must be renewed in its console.',
    }
  const named = by.bound.inspect.namedKey(request)
  if (named !== undefined && named !== keyId)
    return {
      fault: 'other_key',
      how: keyId,
      words: `It names the key ${printable(named)}, but was signed with ${keyId}.`,
      remedy:
        "Check which key stands under which serial in the merchant's file: two may be mixed up. A genuine sender names the key that it uses.",
    }
  return undefined
}

const isProbe = (verdict: Verdict) => verdict.kind === 'refused' && verdict.rejection.kind === 'signature_probe'
const nameOf = ({ provider, merchant }: Bound) => ({ provider, merchant })
const canonicalOf = ({ bound }: Bound, request: CallbackRequest, hide: (text: string) => string) => {
  const bytes = bound.inspect.canonical(request)
  return bytes === undefined ? null : escapedBytes(bytes, hide)
}
const printable = (text: string) => text.replace(/[^\x20-\x7e]/g, '?').slice(0, 128)
const isoOf = (ms: number): string | null => {
  const at = new Date(ms)
  return Number.isNaN(at.getTime()) ? null : at.toISOString()
}
