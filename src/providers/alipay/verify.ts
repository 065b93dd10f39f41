import { verify, type KeyObject } from 'node:crypto'
import { malformed, refused, type Refused } from '../refuse.ts'
import { decodeSignature } from '../signature.ts'
import type { AlipayKey } from './config.ts'
import { asciiField, type Form } from './parse-form.ts'
import { CERT_SN, possibleContents } from './signed-content.ts'

/**
 * Checks that a form is Alipay's: RSA2 (RSA-SHA256) over the fields as they arrived. The algorithm is ours to say:
 * an SDK that took it from `sign_type` let the sender choose SHA-1. A notice has no signed time that could be stale:
 * its retries come for 25 hours.
 * @returns undefined if it is
 */
export function verifySignature(form: Form, keys: readonly AlipayKey[], now: Date): Refused | undefined {
  if (asciiField(form, 'sign_type') !== 'RSA2') return malformed('sign_type')
  const signature = decodeSignature(asciiField(form, 'sign') ?? '')
  if (signature === undefined) return refused({ kind: 'bad_signature' })

  const named = namedCertificate(form, keys)
  const valid = keys.filter((key) => isValid(key, now) && (named === undefined || key.certSn === named))
  if (valid.length === 0) return refused({ kind: 'unknown_key', keyId: (named ?? 'alipay').slice(0, 64) })
  for (const [content, key] of likeliest(form, valid))
    if (verify('RSA-SHA256', content, key, signature)) return undefined
  return refused({ kind: 'bad_signature' })
}

/**
 * What one forgery may cost: each try is an RSA verification. All the keys that a merchant can have fit, so that what
 * Alipay signs as its samples show is taken by any of them; a rarer content is tried with as many as remain. One key,
 * or the certificate that is named, leaves room for every content.
 */
const TRIES_MAX = 4

/** Contents and keys, the likeliest first: every key with the likeliest content before any key with the next. */
function* likeliest(form: Form, keys: readonly AlipayKey[]): Generator<readonly [Buffer, KeyObject], void, void> {
  let tries = 0
  for (const content of possibleContents(form))
    for (const { key } of keys) {
      if (tries++ === TRIES_MAX) return
      yield [content, key]
    }
}

/**
 * The certificate that a message names; it alone may have signed then. Undefined: it names none, or we hold public
 * keys only, which have no such number.
 */
export function namedCertificate(form: Form, keys: readonly AlipayKey[]): string | undefined {
  const named = asciiField(form, CERT_SN)
  return named && keys.some(({ certSn }) => certSn !== null) ? named : undefined
}

const isValid = ({ validToMs }: AlipayKey, now: Date) => validToMs >= now.getTime()
