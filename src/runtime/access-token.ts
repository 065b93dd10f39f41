import { createHash, randomBytes } from 'node:crypto'

export const ROLES = ['merchant', 'viewer', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]

const PREFIX = 'po_'
const FORM = /^po_[A-Za-z0-9_-]{43}$/

/** A new token: shown once, kept only as its hash. 256 random bits need no salt and no slow hash. */
export function mintToken(): { token: string; hash: Buffer } {
  const secret = randomBytes(32)
  return { token: PREFIX + secret.toString('base64url'), hash: createHash('sha256').update(secret).digest() }
}

/**
 * @returns SHA-256 of the token's 32 bytes; undefined where the text cannot be a token of ours, so that nobody need be
 *   asked. Finding by hash leaks no useful timing, as nobody can steer a SHA-256 towards a stored one.
 */
export function hashToken(token: string): Buffer | undefined {
  if (!FORM.test(token)) return undefined
  return createHash('sha256')
    .update(Buffer.from(token.slice(PREFIX.length), 'base64url'))
    .digest()
}
