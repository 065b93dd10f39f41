import type { CallbackRequest, Rejection, Verdict } from '../provider.ts'
import { bodyForm } from './body-form.ts'
import { causesOf } from './causes-of.ts'
import type { Seen } from './distortion.ts'
import { escapedBytes } from './escaped.ts'
import type { Explanation, KeyTried } from './explanation.ts'
import { hintsOf } from './hints.ts'
import { isoOf } from './iso-of.ts'
import { search, type Bound, type Bounds } from './search.ts'

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

const isProbe = (verdict: Verdict) => verdict.kind === 'refused' && verdict.rejection.kind === 'signature_probe'
const nameOf = ({ provider, merchant }: Bound) => ({ provider, merchant })
const canonicalOf = ({ bound }: Bound, request: CallbackRequest, hide: (text: string) => string) => {
  const bytes = bound.inspect.canonical(request)
  return bytes === undefined ? null : escapedBytes(bytes, hide)
}
