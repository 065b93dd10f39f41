import { isUtf8 } from 'node:buffer'
import { createDecipheriv, type KeyObject } from 'node:crypto'
import type { Dated } from '../config-files.ts'
import { isFields, type Fields } from '../fields.ts'
import { malformed, refused, type Refused } from '../refuse.ts'
import { parseStrictJson } from '../strict-json.ts'

/** A notification with its resource in clear. */
export interface Notification {
  readonly id: unknown
  readonly eventType: string
  readonly createTime: unknown
  /** What the resource is: `transaction`, `refund`, `profitsharing`, …; empty where nothing says so. */
  readonly originalType: string
  readonly resource: Fields
}

/** The types by which we tell notifications apart; other words in `associated_data` name none. */
const TYPES: ReadonlySet<string> = new Set(['transaction', 'refund', 'profitsharing'])
const ASCII = /^[\x20-\x7e]*$/
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Opens the encrypted `resource` of a notification whose signature is good.
 * @param apiV3Keys tried in turn, as the key may have been changed in the console a moment ago; none past its end
 * @see AEAD_AES_256_GCM, RFC 5116: the ciphertext ends with the 16-byte tag; associated_data may be empty or absent
 */
export function openResource(
  rawBody: Buffer,
  apiV3Keys: readonly Dated<KeyObject>[],
  now: Date,
): { readonly kind: 'opened'; readonly notification: Notification } | Refused {
  const envelope = parseStrictJson(rawBody.toString())?.value
  if (!isFields(envelope)) return malformed('body', 'no unambiguous JSON object')
  const { event_type: eventType, resource } = envelope
  if (typeof eventType !== 'string' || eventType === '' || eventType.length > 64) return malformed('event_type')
  if (!isFields(resource)) return malformed('resource')
  const { algorithm, ciphertext, nonce, associated_data: associatedData = '', original_type: originalType } = resource
  if (algorithm !== 'AEAD_AES_256_GCM') return malformed('resource.algorithm')
  if (typeof ciphertext !== 'string') return malformed('resource.ciphertext')
  // Another length makes the cipher throw, or worse: one SDK could be crashed from outside with it.
  if (typeof nonce !== 'string' || nonce.length !== NONCE_BYTES || !ASCII.test(nonce))
    return malformed('resource.nonce')
  if (typeof associatedData !== 'string' || !ASCII.test(associatedData)) return malformed('resource.associated_data')
  if (originalType !== undefined && typeof originalType !== 'string') return malformed('resource.original_type')

  const sealed = Buffer.from(ciphertext, 'base64')
  if (sealed.length < TAG_BYTES) return malformed('resource.ciphertext')
  for (const { value: key, validToMs } of apiV3Keys) {
    if (validToMs < now.getTime()) continue
    const plain = decrypt(sealed, key, nonce, associatedData)
    if (plain === undefined) continue
    const opened = isUtf8(plain) ? parseStrictJson(plain.toString())?.value : undefined
    if (!isFields(opened)) return malformed('resource', 'no unambiguous JSON object')
    const notification = { id: envelope['id'], eventType, createTime: envelope['create_time'], resource: opened }
    // Some samples lack original_type; associated_data, which the tag covers, then says the same, or nothing.
    const named = originalType || (TYPES.has(associatedData) ? associatedData : '')
    return { kind: 'opened', notification: { ...notification, originalType: named } }
  }
  return refused({ kind: 'undecryptable' })
}

/** The clear text; undefined if the tag does not match. Nothing is used before `final`, which is what checks it. */
function decrypt(sealed: Buffer, key: KeyObject, nonce: string, associatedData: string): Buffer | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'latin1'), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(associatedData, 'latin1'))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  const plain = decipher.update(sealed.subarray(0, -TAG_BYTES))
  try {
    decipher.final()
  } catch {
    return undefined
  }
  return plain
}
