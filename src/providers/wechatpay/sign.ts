import { createCipheriv, randomBytes, sign, type KeyObject } from 'node:crypto'
import { inBeijing } from '../china-time.ts'
import { PROBE, signedMessage } from './verify.ts'

/** What WeChat Pay's side holds: a platform key with its serial, and the merchant's APIv3 key. */
export interface WechatpaySigner {
  readonly serial: string
  readonly privateKey: KeyObject
  readonly apiV3Key: string | Buffer
}

export interface SignedRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly rawBody: Buffer
}

export interface Envelope {
  readonly id: string
  readonly eventType: string
  /** Undefined leaves `original_type` out, as some of WeChat Pay's samples do. */
  readonly originalType?: string | undefined
  readonly associatedData?: string
  readonly summary?: string
  /** The resource in clear; text and bytes are encrypted as they are. */
  readonly resource: object | string | Buffer
}

/** Encrypts and envelopes a resource as WeChat Pay does; the bytes that `signRequest` signs. */
export function sealEnvelope(envelope: Envelope, apiV3Key: string | Buffer, at: Date): Buffer {
  const { associatedData = envelope.originalType ?? '', resource } = envelope
  const nonce = randomBytes(6).toString('hex')
  const cipher = createCipheriv('aes-256-gcm', apiV3Key, nonce, { authTagLength: 16 }).setAAD(
    Buffer.from(associatedData),
  )
  const clear = Buffer.isBuffer(resource) || typeof resource === 'string' ? resource : JSON.stringify(resource)
  const ciphertext = Buffer.concat([cipher.update(Buffer.from(clear)), cipher.final(), cipher.getAuthTag()]).toString(
    'base64',
  )
  return Buffer.from(
    JSON.stringify({
      id: envelope.id,
      create_time: beijing(at),
      resource_type: 'encrypt-resource',
      event_type: envelope.eventType,
      summary: envelope.summary ?? '支付成功',
      resource: {
        original_type: envelope.originalType,
        algorithm: 'AEAD_AES_256_GCM',
        ciphertext,
        associated_data: associatedData,
        nonce,
      },
    }),
  )
}

/** Signs a body as WeChat Pay does at that moment. Each delivery is signed afresh, as its time is part of it. */
export function signRequest(rawBody: Buffer, { serial, privateKey }: WechatpaySigner, at: Date): SignedRequest {
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const nonce = randomBytes(16).toString('hex')
  return {
    headers: {
      'content-type': 'application/json',
      'wechatpay-timestamp': timestamp,
      'wechatpay-nonce': nonce,
      'wechatpay-serial': serial,
      'wechatpay-signature-type': 'WECHATPAY2-SHA256-RSA2048',
      'wechatpay-signature': sign('RSA-SHA256', signedMessage(timestamp, nonce, rawBody), privateKey).toString(
        'base64',
      ),
    },
    rawBody,
  }
}

/** How the signature of a probe may be wrong; each of them was seen or asked for. */
export type ProbeForm = 'another_signature' | 'invalid_base64' | 'right_signature'

/**
 * What WeChat Pay sends now and then to see who checks: the same notification under a signature that is marked as
 * wrong. Whoever decodes it as base64 may fall over it (WxJava#3288), whoever cuts the mark off may accept it.
 */
export function signProbe(rawBody: Buffer, signer: WechatpaySigner, at: Date, form: ProbeForm): SignedRequest {
  const { headers } = signRequest(rawBody, signer, at)
  const right = headers['wechatpay-signature'] ?? ''
  const behindMark = {
    another_signature: randomBytes(243).toString('base64'),
    // 19 characters of the mark and 326: one more than a multiple of four.
    invalid_base64: randomBytes(243).toString('base64').slice(0, 324) + 'Aa',
    right_signature: right,
  }[form]
  return { headers: { ...headers, 'wechatpay-signature': PROBE + behindMark }, rawBody }
}

/** RFC 3339 with the offset that WeChat Pay writes. */
export const beijing = (at: Date) => `${inBeijing(at).slice(0, 19)}+08:00`
