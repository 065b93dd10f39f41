import type { Rejection } from '../provider.ts'
import type { Cause } from './explanation.ts'
import { isoOf } from './iso-of.ts'
import { refusalWords } from './refusal-words.ts'
import type { Bound, Found } from './search.ts'

/** What happened to a refused request, in the order in which it did; empty if nothing that is known explains it. */
export function causesOf(rejection: Rejection, addressed: Bound, found: Found | undefined, now: Date): Cause[] {
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

const printable = (text: string) => text.replace(/[^\x20-\x7e]/g, '?').slice(0, 128)
