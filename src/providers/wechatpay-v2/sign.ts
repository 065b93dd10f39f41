import { createCipheriv } from 'node:crypto'
import { inBeijing } from '../china-time.ts'
import type { ApiKey } from './api-key.ts'
import { signatureOf, signedContent, type SignType } from './signature.ts'

/** Values as they are signed: text, whole numbers as decimal text. */
export type NoticeFields = Readonly<Record<string, string>>

/** Signs fields as WeChat Pay v2 does: notifications, and the answers of its queries. */
export const signFields = (fields: NoticeFields, key: ApiKey, signType: SignType): NoticeFields => ({
  ...fields,
  sign: signatureOf(signedContent(new Map(Object.entries(fields))), signType, key),
})

/**
 * A signed payment notification, ready to be posted.
 * @param fields with `sign_type` if it is to take part
 */
export const signPayment = (fields: NoticeFields, key: ApiKey, signType: SignType = 'HMAC-SHA256') =>
  xmlRequest(signFields(fields, key, signType))

/** A refund notification, which nothing signs: `refund` is encrypted as its `req_info`. */
export const sealRefund = (envelope: NoticeFields, refund: NoticeFields | string | Buffer, key: ApiKey) =>
  xmlRequest({ ...envelope, req_info: sealReqInfo(isClear(refund) ? refund : flatXml('root', refund), key) })

const isClear = (refund: NoticeFields | string | Buffer): refund is string | Buffer =>
  typeof refund === 'string' || Buffer.isBuffer(refund)

/** AES-256-ECB with PKCS #7, in base64. */
export function sealReqInfo(clear: string | Buffer, { refundKey }: ApiKey): string {
  const cipher = createCipheriv('aes-256-ecb', refundKey, null)
  return Buffer.concat([cipher.update(clear), cipher.final()]).toString('base64')
}

export const xmlRequest = (fields: NoticeFields) => ({
  headers: { 'content-type': 'text/xml' },
  rawBody: Buffer.from(flatXml('xml', fields)),
})

/** A document as WeChat Pay writes it: figures plain, everything else in CDATA, a line for each field. */
export function flatXml(root: 'xml' | 'root', fields: NoticeFields): string {
  const lines = Object.entries(fields).map(([name, value]) => {
    if (value.includes(']]>')) throw new Error(`${name} cannot be written in CDATA`)
    return `<${name}>${/^\d{1,9}$/.test(value) ? value : `<![CDATA[${value}]]>`}</${name}>\n`
  })
  return `<${root}>${lines.join('')}</${root}>`
}

/** Beijing's time as a payment has it: `20260102030405`. */
export const compactTime = (at: Date) => spacedTime(at).replaceAll(/\D/g, '')

/** Beijing's time as a refund has it: `2026-01-02 03:04:05`. */
export const spacedTime = (at: Date) => inBeijing(at).slice(0, 19).replace('T', ' ')
