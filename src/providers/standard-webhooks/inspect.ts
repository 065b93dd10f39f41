import type { KeyObject } from 'node:crypto'
import type { Dated } from '../config-files.ts'
import { fingerprint } from '../fingerprint.ts'
import { signedSec } from '../freshness.ts'
import type { CallbackRequest, Inspection } from '../provider.ts'
import { givenSignatures, isSignedBy, signedMessage } from './verify.ts'

/**
 * The signature of a message of Standard Webhooks, taken apart.
 * @param field of the merchant's section that names the keys
 */
export const inspectWebhook = (keys: readonly Dated<KeyObject>[], field: string): Inspection => {
  const named = keys.map(({ value, validToMs }, index) => ({
    ...{ id: `${field}.${index}`, value, validToMs },
    fingerprint: value.type === 'secret' ? null : fingerprint(value),
  }))
  return {
    keys: named.map(({ id, fingerprint, validToMs }) => ({ id, fingerprint, validToMs })),
    canonical: (request) => {
      const head = headOf(request)
      return head === undefined ? undefined : signedMessage(head, request.rawBody)
    },
    verifies: (request, keyId) => {
      const [known, head] = [named.find(({ id }) => id === keyId), headOf(request)]
      if (known === undefined || head === undefined) return false
      return isSignedBy(known.value, givenSignatures(request.headers['webhook-signature'] ?? ''), head, request.rawBody)
    },
    namedKey: () => undefined,
    signedAtSec: ({ headers }) => signedSec(headers['webhook-timestamp'] ?? ''),
  }
}

/** `id.timestamp.`; undefined if the request lacks one of them. */
function headOf({ headers }: CallbackRequest): string | undefined {
  const [id, timestamp] = [headers['webhook-id'], headers['webhook-timestamp']]
  return id === undefined || timestamp === undefined ? undefined : `${id}.${timestamp}.`
}
