import type { KeyObject } from 'node:crypto'
import type { Dated } from '../config-files.ts'
import { signedSec } from '../freshness.ts'
import type { CallbackRequest, Inspection } from '../provider.ts'
import { isSignedBy, parseSignature, SIGNATURE_HEADER, signedMessage } from './verify.ts'

const signatureOf = ({ headers }: CallbackRequest) => parseSignature(headers[SIGNATURE_HEADER] ?? '')

/** The signature of an event, taken apart. Stripe does not say which of an endpoint's secrets it used. */
export const inspectStripe = (secrets: readonly Dated<KeyObject>[]): Inspection => {
  const named = secrets.map((secret, index) => ({ ...secret, id: `secretFiles.${index}` }))
  return {
    keys: named.map(({ id, validToMs }) => ({ id, fingerprint: null, validToMs })),
    canonical: (request) => {
      const signature = signatureOf(request)
      return signature === undefined ? undefined : signedMessage(signature.timestamp, request.rawBody)
    },
    verifies: (request, keyId) => {
      const [known, signature] = [named.find(({ id }) => id === keyId), signatureOf(request)]
      return known !== undefined && signature !== undefined && isSignedBy(known.value, signature, request.rawBody)
    },
    namedKey: () => undefined,
    signedAtSec: (request) => signedSec(signatureOf(request)?.timestamp ?? ''),
  }
}
