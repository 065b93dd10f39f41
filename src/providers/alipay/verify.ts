import { verify } from 'node:crypto'
import { malformed, refused, type Refused } from '../refuse.ts'
import { decodeSignature } from '../signature.ts'
import type { AlipayKey } from './config.ts'
import type { Form } from './parse-form.ts'

/**
 * Checks that a notice is Alipay's: RSA2 (RSA-SHA256) over all fields but `sign` and `sign_type`, sorted, `k=v` joined
 * by `&`, in bytes of the notice's charset. The algorithm is ours to say: an SDK that took it from `sign_type` let the
 * sender choose SHA-1. A notice has no signed time that could be stale: its retries repeat it for 25 hours.
 * @returns undefined if it is
 */
export function verifySignature(form: Form, keys: readonly AlipayKey[], now: Date): Refused | undefined {
  if (form.get('sign_type')?.toString('latin1') !== 'RSA2') return malformed('sign_type')
  const sign = form.get('sign')
  if (sign === undefined) return malformed('sign')
  const signature = decodeSignature(sign.toString('latin1'))
  if (signature === undefined) return refused({ kind: 'bad_signature' })

  const valid = keys.filter(({ validToMs }) => validToMs >= now.getTime())
  if (valid.length === 0) return refused({ kind: 'unknown_key', keyId: 'alipay' })
  const isSigned = (content: Buffer) => valid.some(({ key }) => verify('RSA-SHA256', content, key, signature))
  const names = [...form.keys()].filter((name) => name !== 'sign' && name !== 'sign_type').sort()
  if (isSigned(signedContent(form, names))) return undefined
  // Alipay's SDKs keep empty values in the string, its guide drops them: sources conflict, so both are tried.
  const filled = names.filter((name) => form.get(name)?.length !== 0)
  return filled.length < names.length && isSigned(signedContent(form, filled))
    ? undefined
    : refused({ kind: 'bad_signature' })
}

/** `k=v` joined by `&`, in the order of the names given. */
export function signedContent(form: Form, names: readonly string[]): Buffer {
  let size = 0
  for (const name of names) size += name.length + (form.get(name)?.length ?? 0) + 2
  const content = Buffer.allocUnsafe(Math.max(0, size - 1))
  let at = 0
  for (const [index, name] of names.entries()) {
    at += content.write(index === 0 ? `${name}=` : `&${name}=`, at, 'latin1')
    at += form.get(name)?.copy(content, at) ?? 0
  }
  return content
}
