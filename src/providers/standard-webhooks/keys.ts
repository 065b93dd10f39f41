import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'

/** Standard Webhooks: 24 to 64 random bytes. */
const SECRET_BYTES_MIN = 24
const SECRET_BYTES_MAX = 64
const PUBLIC_KEY_BYTES = 32
/** What stands before the 32 bytes in the DER form of an ed25519 public key (RFC 8410, 4). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

/** The key in a `whsec_…` secret, which makes `v1` signatures; undefined if it is none. */
export function webhookSecret(text: string): KeyObject | undefined {
  const bytes = keyBytes('whsec_', text)
  return bytes !== undefined && bytes.length >= SECRET_BYTES_MIN && bytes.length <= SECRET_BYTES_MAX
    ? createSecretKey(bytes)
    : undefined
}

/** The ed25519 key in a `whpk_…` text, whose private half makes `v1a` signatures; undefined if it is none. */
export function webhookPublicKey(text: string): KeyObject | undefined {
  const bytes = keyBytes('whpk_', text)
  return bytes?.length === PUBLIC_KEY_BYTES
    ? createPublicKey({ key: Buffer.concat([SPKI_PREFIX, bytes]), format: 'der', type: 'spki' })
    : undefined
}

function keyBytes(prefix: string, text: string): Buffer | undefined {
  const base64 = text.startsWith(prefix) ? text.slice(prefix.length) : ''
  return /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? Buffer.from(base64, 'base64') : undefined
}
