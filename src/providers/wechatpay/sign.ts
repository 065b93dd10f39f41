import { createCipheriv, randomBytes, sign, type KeyObject } from 'node:crypto'
import { signedMessage } from './verify.ts'

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
  /** The resource in clear; text is encrypted as it is. */
  readonly resource: object | string
}

/** Encrypts and envelopes a resource as WeChat Pay does; the bytes that `signRequest` signs. */
export function sealEnvelope(envelope: Envelope, apiV3Key: string | Buffer, at: Date): Buffer {
  const { associatedData = envelope.originalType ?? '', resource } = envelope
  const nonce = randomBytes(6).toString('hex')
  const cipher = createCipheriv('aes-256-gcm', apiV3Key, nonce, { authTagLength: 16 }).setAAD(
    Buffer.from(associatedData),
  )
  const clear = typeof resource === 'string' ? resource : JSON.stringify(resource)
  const ciphertext = Buffer.concat([cipher.update(clear), cipher.final(), cipher.getAuthTag()]).toString('base64')
  return Buffer.from(
    JSON.stringify({
      id: envelope.id,
      create_time: beijing(at),
      resource_type: 'encrypt-resource',
      event_type: envelope.eventType,
      summary: '支付成功',
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

/** RFC 3339 with the offset that WeChat Pay writes. */
export const beijing = (at: Date) => `${new Date(at.getTime() + 8 * 3_600_000).toISOString().slice(0, 19)}+08:00`
