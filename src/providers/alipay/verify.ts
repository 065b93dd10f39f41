import { verify } from 'node:crypto'
import { malformed, refused, type Refused } from '../refuse.ts'
import { decodeSignature } from '../signature.ts'
import type { AlipayKey } from './config.ts'
import { asciiField, type Form } from './parse-form.ts'
import { isEmpty, signedContent, signedNames } from './signed-content.ts'

/**
 * Checks that a notice is Alipay's: RSA2 (RSA-SHA256) over the fields as they arrived. The algorithm is ours to say:
 * an SDK that took it from `sign_type` let the sender choose SHA-1. A notice has no signed time that could be stale:
 * its retries repeat it for 25 hours.
 * @returns undefined if it is
 */
export function verifySignature(form: Form, keys: readonly AlipayKey[], now: Date): Refused | undefined {
  if (asciiField(form, 'sign_type') !== 'RSA2') return malformed('sign_type')
  const signature = decodeSignature(asciiField(form, 'sign') ?? '')
  if (signature === undefined) return refused({ kind: 'bad_signature' })

  const valid = keys.filter(({ validToMs }) => validToMs >= now.getTime())
  if (valid.length === 0) return refused({ kind: 'unknown_key', keyId: 'alipay' })
  const isSigned = (content: Buffer) => valid.some(({ key }) => verify('RSA-SHA256', content, key, signature))
  const names = signedNames(form)
  if (isSigned(signedContent(form, names))) return undefined
  // Alipay's SDKs keep empty values in the string, its guide drops them: sources conflict, so both are tried.
  const filled = names.filter((name) => !isEmpty(form, name))
  return filled.length < names.length && isSigned(signedContent(form, filled))
    ? undefined
    : refused({ kind: 'bad_signature' })
}
