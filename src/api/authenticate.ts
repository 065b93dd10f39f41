import { hashToken } from '../runtime/access-token.ts'
import type { Refusal } from './refusal.ts'

/** @returns the hash to look for, or undefined: the header holds nothing that could be a token. */
export function bearerHash(authorization: string | undefined): Buffer | undefined {
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  return token === undefined ? undefined : hashToken(token)
}

/** The same for a missing, malformed, unknown, expired and revoked token. */
export const UNAUTHENTICATED: Refusal = {
  kind: 'unauthenticated',
  field: 'Authorization',
  detail: 'There is no valid token in the Authorization header.',
  remedy: 'Send Authorization: Bearer <token>; make one with: paidonce token create.',
}
