import { createHmac, timingSafeEqual, verify, type KeyObject } from 'node:crypto'
import type { Dated } from '../config-files.ts'
import { ageSec, TOLERANCE_SEC } from '../freshness.ts'
import type { CallbackRequest } from '../provider.ts'
import { headerProblem, malformed, refused, type Refused } from '../refuse.ts'
import { decodeSignature } from '../signature.ts'

export const SIGNED_HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

/** No dot: it separates the parts of what is signed. With a prefix before it, an identity of at most 256 bytes. */
const MESSAGE_ID = /^[\x21-\x2d\x2f-\x7e]{1,240}$/
/** Signatures in one header; a key being changed needs two. */
const SIGNATURES_MAX = 8
/** Of ed25519: each costs a forger nothing, and us a verification per key. */
const ED25519_SIGNATURES_MAX = 3
/** Verifications of ed25519 for one message: one signature under all the keys there can be, or two under each of two. */
const ED25519_TRIES_MAX = 4

/** The signatures of a header by version, decoded: `v1` is HMAC-SHA256, `v1a` ed25519. */
export interface GivenSignatures {
  readonly v1: readonly Buffer[]
  readonly v1a: readonly Buffer[]
}

/**
 * Checks who sent a message and when, in the form of Standard Webhooks: over `id.timestamp.body`, the bytes as they
 * arrived. One good signature of the list is enough; versions other than `v1` and `v1a` are passed over, and each kind
 * of key is tried on its own version only.
 * @param keys secrets and ed25519 public keys; what is past its end verifies nothing
 * @returns undefined if one of those keys signed it, at most 300 s ago or ahead
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function verifySignature(
  request: CallbackRequest,
  keys: readonly Dated<KeyObject>[],
  now: Date,
): Refused | undefined {
  const problem = headerProblem(request, SIGNED_HEADERS)
  if (problem !== undefined) return problem
  const { headers, rawBody } = request
  const timestamp = headers['webhook-timestamp'] ?? ''
  const age = ageSec(timestamp, now)
  if (age === undefined) return malformed('webhook-timestamp')
  if (Math.abs(age) > TOLERANCE_SEC) return refused({ kind: 'stale', ageSec: age })
  const id = headers['webhook-id'] ?? ''
  if (!MESSAGE_ID.test(id)) return malformed('webhook-id')
  if (rawBody.length === 0) return malformed('body')

  const given = givenSignatures(headers['webhook-signature'] ?? '')
  const head = `${id}.${timestamp}.`
  const valid = keys.filter(({ validToMs }) => validToMs >= now.getTime()).map(({ value }) => value)
  return valid.some((key) => key.type === 'secret' && isSignedBy(key, given, head, rawBody)) ||
    isSignedByPublic(valid, given, head, rawBody)
    ? undefined
    : refused({ kind: 'bad_signature' })
}

/** The first signature under every public key, then the next, up to the limit. */
function isSignedByPublic(valid: readonly KeyObject[], given: GivenSignatures, head: string, rawBody: Buffer): boolean {
  const keys = valid.filter(({ type }) => type === 'public')
  let tries = 0
  for (const v1a of given.v1a)
    for (const key of keys) {
      if (tries++ === ED25519_TRIES_MAX) return false
      if (isSignedBy(key, { v1: [], v1a: [v1a] }, head, rawBody)) return true
    }
  return false
}

/** Whether that key made one of the signatures. */
export function isSignedBy(key: KeyObject, given: GivenSignatures, head: string, rawBody: Buffer): boolean {
  if (key.type === 'secret') {
    if (given.v1.length === 0) return false
    const expected = hmacSignature(key, head, rawBody)
    return given.v1.some((bytes) => timingSafeEqual(bytes, expected))
  }
  const message = given.v1a.length === 0 ? undefined : signedMessage(head, rawBody)
  return message !== undefined && given.v1a.some((bytes) => verify(null, message, key, bytes))
}

const BYTES = { v1: 32, v1a: 64 } as const

export function givenSignatures(header: string): GivenSignatures {
  const given = { v1: [] as Buffer[], v1a: [] as Buffer[] }
  for (const versioned of header.split(' ', SIGNATURES_MAX)) {
    const comma = versioned.indexOf(',')
    const version = versioned.slice(0, Math.max(comma, 0))
    if (version !== 'v1' && version !== 'v1a') continue
    const bytes = decodeSignature(versioned.slice(comma + 1))
    if (bytes?.length === BYTES[version]) given[version].push(bytes)
  }
  return { v1: given.v1, v1a: given.v1a.slice(0, ED25519_SIGNATURES_MAX) }
}

/** The bytes that are signed; `head` is `id.timestamp.`. */
export const signedMessage = (head: string, rawBody: Buffer): Buffer => Buffer.concat([Buffer.from(head), rawBody])

/** The one `v1` signature of a message under a secret. */
export const hmacSignature = (secret: KeyObject, head: string, rawBody: Buffer): Buffer =>
  createHmac('sha256', secret).update(head).update(rawBody).digest()
