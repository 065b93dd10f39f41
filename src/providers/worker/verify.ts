import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'
import { ageSec, TOLERANCE_SEC } from '../freshness.ts'
import type { CallbackRequest } from '../provider.ts'
import { headerProblem, malformed, refused, type Refused } from '../refuse.ts'
import { decodeSignature } from '../signature.ts'

export const SIGNED_HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

/** No dot: it separates the parts of what is signed. With `worker:` before it, an identity of at most 256 bytes. */
const REPORT_ID = /^[\x21-\x2d\x2f-\x7e]{1,240}$/
/** Signatures in one header; a secret being changed needs two. */
const SIGNATURES_MAX = 8

/**
 * Checks who sent a report and when, in the form of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, the bytes
 * as they arrived. One good signature of the list is enough; versions other than `v1` are passed over.
 * @returns undefined if one of our workers signed it, at most 300 s ago or ahead
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function verifySignature(
  request: CallbackRequest,
  secrets: readonly KeyObject[],
  now: Date,
): Refused | undefined {
  const problem = headerProblem(request, SIGNED_HEADERS)
  if (problem !== undefined) return problem
  const { headers, rawBody } = request
  const id = headers['webhook-id'] ?? ''
  const timestamp = headers['webhook-timestamp'] ?? ''
  const age = ageSec(timestamp, now)
  if (age === undefined) return malformed('webhook-timestamp')
  if (Math.abs(age) > TOLERANCE_SEC) return refused({ kind: 'stale', ageSec: age })
  if (!REPORT_ID.test(id)) return malformed('webhook-id')
  if (rawBody.length === 0) return malformed('body')

  const given = givenSignatures(headers['webhook-signature'] ?? '')
  const isSigned = secrets.some((secret) => {
    const expected = reportSignature(secret, id, timestamp, rawBody)
    return given.some((bytes) => bytes.length === expected.length && timingSafeEqual(bytes, expected))
  })
  return isSigned ? undefined : refused({ kind: 'bad_signature' })
}

/** The `v1` signatures of the header. */
export const givenSignatures = (header: string): Buffer[] => header.split(' ', SIGNATURES_MAX).flatMap(signatureBytes)

/** `id.timestamp.body`. */
export const signedReport = (id: string, timestamp: string, rawBody: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${id}.${timestamp}.`), rawBody])

/** The one signature of a report under a secret. */
export const reportSignature = (secret: KeyObject, id: string, timestamp: string, rawBody: Buffer): Buffer =>
  createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(rawBody).digest()

function signatureBytes(versioned: string): Buffer[] {
  const bytes = versioned.startsWith('v1,') ? decodeSignature(versioned.slice('v1,'.length)) : undefined
  return bytes === undefined ? [] : [bytes]
}
