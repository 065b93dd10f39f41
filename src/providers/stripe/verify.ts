import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'
import type { Dated } from '../config-files.ts'
import { ageSec, TOLERANCE_SEC } from '../freshness.ts'
import type { CallbackRequest } from '../provider.ts'
import { headerProblem, malformed, refused, type Refused } from '../refuse.ts'

export const SIGNATURE_HEADER = 'stripe-signature'
export const SIGNED_HEADERS = [SIGNATURE_HEADER] as const

/** Elements of the header. Stripe sends a time and one `v1` per secret in force, two while one is being rolled. */
const ELEMENTS_MAX = 16
const HEX_SHA256 = /^[0-9a-f]{64}$/

/** `t=…,v1=…[,v1=…][,v0=…]` taken apart; other schemes are left out. */
export interface StripeSignature {
  readonly timestamp: string
  readonly v1: readonly Buffer[]
}

/**
 * Checks who sent an event and when: HMAC-SHA256 over `t.body`, the bytes as they arrived, under the whole text of an
 * endpoint's secret. One good `v1` is enough; other schemes (`v0` comes with test events) prove nothing.
 * @param secrets what is past its end verifies nothing
 * @returns undefined if it is Stripe's and at most 300 s old or ahead
 * @see https://docs.stripe.com/webhooks/signature
 */
export function verifySignature(
  request: CallbackRequest,
  secrets: readonly Dated<KeyObject>[],
  now: Date,
): Refused | undefined {
  const problem = headerProblem(request, SIGNED_HEADERS)
  if (problem !== undefined) return problem
  const { headers, rawBody } = request
  const signature = parseSignature(headers[SIGNATURE_HEADER] ?? '')
  const age = signature === undefined ? undefined : ageSec(signature.timestamp, now)
  if (signature === undefined || age === undefined)
    return malformed(SIGNATURE_HEADER, 'needs t once, as ten digits, and has at most 16 elements')
  if (Math.abs(age) > TOLERANCE_SEC) return refused({ kind: 'stale', ageSec: age })
  if (rawBody.length === 0) return malformed('body')
  const isSigned = secrets.some(
    ({ value, validToMs }) => validToMs >= now.getTime() && isSignedBy(value, signature, rawBody),
  )
  return isSigned ? undefined : refused({ kind: 'bad_signature' })
}

/** Whether that secret made one of the signatures. */
export function isSignedBy(secret: KeyObject, { timestamp, v1 }: StripeSignature, rawBody: Buffer): boolean {
  if (v1.length === 0) return false
  const expected = hmacSignature(secret, timestamp, rawBody)
  return v1.some((bytes) => timingSafeEqual(bytes, expected))
}

/** Undefined: no time or two, or too many elements. A `v1` in any other spelling than 64 lower-case digits is none. */
export function parseSignature(header: string): StripeSignature | undefined {
  const elements = header.split(',', ELEMENTS_MAX + 1)
  if (elements.length > ELEMENTS_MAX) return undefined
  const times: string[] = []
  const v1: Buffer[] = []
  for (const element of elements) {
    const equals = element.indexOf('=')
    const [scheme, value] = [element.slice(0, Math.max(equals, 0)), element.slice(equals + 1)]
    if (scheme === 't') times.push(value)
    else if (scheme === 'v1' && HEX_SHA256.test(value)) v1.push(Buffer.from(value, 'hex'))
  }
  const [timestamp] = times
  // Two readers could take different ones: one to check the age, the other to check the signature.
  return timestamp === undefined || times.length > 1 ? undefined : { timestamp, v1 }
}

/** The bytes that are signed. */
export const signedMessage = (timestamp: string, rawBody: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${timestamp}.`), rawBody])

/** The one `v1` signature of an event under a secret. */
export const hmacSignature = (secret: KeyObject, timestamp: string, rawBody: Buffer): Buffer =>
  createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody).digest()
