import { verify } from 'node:crypto'
import { fingerprint } from '../fingerprint.ts'
import type { Inspection } from '../provider.ts'
import { decodeSignature } from '../signature.ts'
import type { AlipayKey } from './config.ts'
import { asciiField, parseForm } from './parse-form.ts'
import { possibleContents, signedContent, signedNames } from './signed-content.ts'
import { namedCertificate } from './verify.ts'

/** The signature of a notice, taken apart. Alipay's notices sign no time of sending. */
export const inspectAlipay = (keys: readonly AlipayKey[]): Inspection => ({
  keys: keys.map(({ id, key, validToMs }) => ({ id, fingerprint: fingerprint(key), validToMs })),
  canonical: ({ rawBody }) => {
    const form = parseForm(rawBody)
    return form && signedContent(form, signedNames(form))
  },
  verifies: ({ rawBody }, keyId) => {
    const [form, known] = [parseForm(rawBody), keys.find(({ id }) => id === keyId)]
    if (form === undefined || known === undefined) return false
    const signature = decodeSignature(asciiField(form, 'sign') ?? '')
    if (signature === undefined) return false
    return [...possibleContents(form)].some((content) => verify('RSA-SHA256', content, known.key, signature))
  },
  namedKey: ({ rawBody }) => {
    const form = parseForm(rawBody)
    return form && namedCertificate(form, keys)
  },
  signedAtSec: () => undefined,
})
