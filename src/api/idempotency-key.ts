import type { Refusal } from './refusal.ts'

const KEY = /^[\x21-\x7e]{1,128}$/
const BAD_KEY: Refusal = {
  kind: 'invalid_field',
  field: 'Idempotency-Key',
  detail: 'Idempotency-Key must be 1 to 128 printable ASCII characters without spaces.',
  remedy: 'Send a new UUID with each new command, and the same one when you send the command again.',
}
export const KEY_REUSED: Refusal = {
  kind: 'idempotency_key_reused',
  field: 'Idempotency-Key',
  detail: 'Idempotency-Key was used for another command of this merchant.',
  remedy: 'Send a new key with a new command.',
}

export type KeyRead =
  { readonly kind: 'key'; readonly key: string } | { readonly kind: 'refused'; readonly refusal: Refusal }

export function readIdempotencyKey(header: (name: string) => string | undefined): KeyRead {
  const key = header('idempotency-key') ?? ''
  return KEY.test(key) ? { kind: 'key', key } : { kind: 'refused', refusal: BAD_KEY }
}
