import type { CallbackRequest, Inspection } from '../provider.ts'
import type { ApiKey } from './api-key.ts'
import { parseFlatXml, type XmlFields } from './parse-flat-xml.ts'
import { isSignedBy, signedContent, signTypeOf } from './signature.ts'

/**
 * The signature of a message, taken apart. The canonical bytes are without `&key=` and the key, which follow them in
 * what is signed: a secret is never printed. A message names no key and signs no time of sending; a refund notification
 * is not signed at all.
 */
export const inspectWechatpayV2 = (keys: readonly ApiKey[]): Inspection => {
  const named = keys.map((key, index) => ({ key, id: `key ${index + 1}` }))
  return {
    keys: named.map(({ id, key }) => ({ id, fingerprint: null, validToMs: key.validToMs })),
    canonical: (request) => {
      const fields = signedFields(request)
      return fields && Buffer.from(signedContent(fields))
    },
    verifies: (request, keyId) => {
      const [fields, known] = [signedFields(request), named.find(({ id }) => id === keyId)]
      const signType = fields && signTypeOf(fields)
      if (fields === undefined || signType === undefined || known === undefined) return false
      return isSignedBy(fields, signedContent(fields), signType, known.key)
    },
    namedKey: () => undefined,
    signedAtSec: () => undefined,
  }
}

function signedFields({ rawBody }: CallbackRequest): XmlFields | undefined {
  const fields = parseFlatXml(rawBody, 'xml')
  return typeof fields === 'string' || fields.has('req_info') ? undefined : fields
}
