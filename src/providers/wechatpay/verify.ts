import { verify } from 'node:crypto'
import { ageSec, TOLERANCE_SEC } from '../freshness.ts'
import type { CallbackRequest } from '../provider.ts'
import { headerProblem, malformed, refused, type Refused } from '../refuse.ts'
import { decodeSignature } from '../signature.ts'
import type { PlatformKey } from './config.ts'

export const SIGNED_HEADERS = [
  'wechatpay-timestamp',
  'wechatpay-nonce',
  'wechatpay-serial',
  'wechatpay-signature',
] as const
const SIGNATURE_TYPE = 'wechatpay-signature-type'
const NONCE = /^[\x21-\x7e]{1,128}$/
const HEX = /^[0-9a-fA-F]+$/
const LINE_FEED = 10

/** A small share of WeChat Pay's traffic carries a signature that is wrong on purpose, to see who checks. */
export const PROBE = 'WECHATPAY/SIGNTEST/'

/**
 * Checks who sent a notification and when: RSA-SHA256 over `timestamp\nnonce\nbody\n`, the bytes as they arrived.
 * What costs nothing comes first; a forgery costs as much RSA as a payment.
 * @returns undefined if it is WeChat Pay's and at most 300 s old or ahead
 * @see https://pay.weixin.qq.com/docs/merchant/development/interface-rules/signature-verification.html
 */
export function verifySignature(
  request: CallbackRequest,
  keys: ReadonlyMap<string, PlatformKey>,
  now: Date,
): Refused | undefined {
  const problem = headerProblem(request, SIGNED_HEADERS)
  if (problem !== undefined) return problem
  const { headers, rawBody, repeatedHeaders } = request
  // It may be absent; named twice it is not absent, though it is not among the headers then either.
  if (repeatedHeaders.includes(SIGNATURE_TYPE)) return refused({ kind: 'repeated_header', header: SIGNATURE_TYPE })
  const timestamp = headers['wechatpay-timestamp'] ?? ''
  const nonce = headers['wechatpay-nonce'] ?? ''
  const keyId = headers['wechatpay-serial'] ?? ''
  const signature = headers['wechatpay-signature'] ?? ''

  if ((headers[SIGNATURE_TYPE] ?? 'WECHATPAY2-SHA256-RSA2048') !== 'WECHATPAY2-SHA256-RSA2048')
    return malformed(SIGNATURE_TYPE)
  const age = ageSec(timestamp, now)
  if (age === undefined) return malformed('wechatpay-timestamp')
  if (Math.abs(age) > TOLERANCE_SEC) return refused({ kind: 'stale', ageSec: age })
  if (!NONCE.test(nonce)) return malformed('wechatpay-nonce')
  if (rawBody.length === 0) return malformed('body')
  // Only the key that the sender names: during a migration certificate and public key sign at random.
  const platform = keys.get(serialOf(keyId))
  if (platform === undefined || platform.validToMs < now.getTime())
    return refused({ kind: 'unknown_key', keyId: keyId.slice(0, 64) })
  if (signature.startsWith(PROBE)) return refused({ kind: 'signature_probe' })

  const bytes = decodeSignature(signature)
  const signed = signedMessage(timestamp, nonce, rawBody)
  return bytes !== undefined && verify('RSA-SHA256', signed, platform.key, bytes)
    ? undefined
    : refused({ kind: 'bad_signature' })
}

/**
 * A serial as keys are kept by it: hexadecimal in upper case, as certificates have it; `PUB_KEY_ID_…` is what it is.
 * Never a number: decimal it was another certificate's.
 */
export const serialOf = (named: string): string => (HEX.test(named) ? named.toUpperCase() : named)

/** `timestamp\nnonce\nbody\n`, the last line feed included. */
export function signedMessage(timestamp: string, nonce: string, rawBody: Buffer): Buffer {
  const head = `${timestamp}\n${nonce}\n`
  const message = Buffer.allocUnsafe(head.length + rawBody.length + 1)
  message.write(head, 0, 'latin1')
  rawBody.copy(message, head.length)
  message[message.length - 1] = LINE_FEED
  return message
}
