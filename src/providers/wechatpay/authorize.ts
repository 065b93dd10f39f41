import { randomBytes, sign, type KeyObject } from 'node:crypto'

/** Who signs a merchant's requests. */
export interface ApiCertificate {
  readonly mchid: string
  /** Of the merchant's API certificate, hexadecimal in upper case. */
  readonly serial: string
  readonly privateKey: KeyObject
}

/**
 * The `Authorization` of a request: RSA-SHA256 over `method\npath\ntimestamp\nnonce\nbody\n`.
 * @param path with its query, as it is sent
 * @see https://pay.weixin.qq.com/doc/v3/merchant/4012365336
 */
export function authorize(
  request: { readonly method: string; readonly path: string; readonly body?: string },
  { mchid, serial, privateKey }: ApiCertificate,
  at: Date,
  nonce = randomBytes(16).toString('hex'),
): string {
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const message = requestMessage(request, timestamp, nonce)
  const signature = sign('RSA-SHA256', Buffer.from(message), privateKey).toString('base64')
  const fields = { mchid, nonce_str: nonce, signature, timestamp, serial_no: serial }
  const pairs = Object.entries(fields).map(([name, value]) => `${name}="${value}"`)
  return `${SCHEME} ${pairs.join(',')}`
}

export const SCHEME = 'WECHATPAY2-SHA256-RSA2048'

export const requestMessage = (
  { method, path, body = '' }: { readonly method: string; readonly path: string; readonly body?: string },
  timestamp: string,
  nonce: string,
): string => `${method}\n${path}\n${timestamp}\n${nonce}\n${body}\n`
