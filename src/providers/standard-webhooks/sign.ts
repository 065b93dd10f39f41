import { createPublicKey, sign, type KeyObject } from 'node:crypto'
import { hmacSignature, signedMessage } from './verify.ts'

/**
 * Signs a message as a sender of Standard Webhooks does at that moment: `v1` under a secret, `v1a` under an ed25519
 * private key, one signature per key. `id` stays the same when the message is sent again, its time does not.
 */
export function signWebhook(message: object | string | Buffer, id: string, keys: readonly KeyObject[], at: Date) {
  const rawBody = Buffer.from(
    typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message),
  )
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const head = `${id}.${timestamp}.`
  return {
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': keys.map((key) => versionedSignature(key, head, rawBody)).join(' '),
    },
    rawBody,
  }
}

/** The `whpk_…` text of an ed25519 key, of either half: what the receiver is given. */
export function webhookPublicKeyText(key: KeyObject): string {
  const publicKey = key.type === 'public' ? key : createPublicKey(key)
  return `whpk_${publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64')}`
}

const versionedSignature = (key: KeyObject, head: string, rawBody: Buffer): string =>
  key.type === 'secret'
    ? `v1,${hmacSignature(key, head, rawBody).toString('base64')}`
    : `v1a,${sign(null, signedMessage(head, rawBody), key).toString('base64')}`
