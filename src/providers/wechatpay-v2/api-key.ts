import { createSecretKey, hash, type KeyObject } from 'node:crypto'

/** A merchant's API key of v2; after `validToMs` it verifies nothing any more. */
export interface ApiKey {
  readonly key: KeyObject
  /** What refund notices are encrypted under. */
  readonly refundKey: KeyObject
  readonly validToMs: number
}

export const API_KEY_BYTES = 32

/**
 * An API key with what is derived from it, once. Refund notices are under the lower-case hexadecimal MD5 of the key, its
 * 32 digits taken as bytes.
 * @see zoujingli/WeChatDeveloper#56: base64-decoding the key instead is a common mistake
 */
export const apiKey = (secret: string, validToMs = Infinity): ApiKey => ({
  key: createSecretKey(Buffer.from(secret)),
  refundKey: createSecretKey(Buffer.from(hash('md5', secret, 'hex'))),
  validToMs,
})
