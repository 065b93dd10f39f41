import { verify } from 'node:crypto'
import { fingerprint } from '../fingerprint.ts'
import type { Inspection } from '../provider.ts'
import { decodeSignature } from '../signature.ts'
import type { AlipayKey } from './config.ts'
import { asciiField, parseForm } from './parse-form.ts'
import { isEmpty, signedContent, signedNames } from './signed-content.ts'

/** The signature of a notice, taken apart. Alipay's notices name no key and sign no time of sending. */
export const inspectAlipay = (keys: readonly AlipayKey[]): Inspection => {
  const named = keys.map((key, index) => ({ ...key, id: `key ${index + 1}` }))
  return {
    keys: named.map(({ id, key, validToMs }) => ({ id, fingerprint: fingerprint(key), validToMs })),
    canonical: ({ rawBody }) => {
      const form = parseForm(rawBody)
      return form && signedContent(form, signedNames(form))
    },
    verifies: ({ rawBody }, keyId) => {
      const [form, known] = [parseForm(rawBody), named.find(({ id }) => id === keyId)]
      if (form === undefined || known === undefined) return false
      const signature = decodeSignature(asciiField(form, 'sign') ?? '')
      if (signature === undefined) return false
      const names = signedNames(form)
      const filled = names.filter((name) => !isEmpty(form, name))
      return [names, filled].some((some) => verify('RSA-SHA256', signedContent(form, some), known.key, signature))
    },
    namedKey: () => undefined,
    signedAtSec: () => undefined,
  }
}
