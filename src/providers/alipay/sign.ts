import { sign, type KeyObject } from 'node:crypto'
import { inBeijing } from '../china-time.ts'
import { encodeText } from './encode-text.ts'
import { parseForm } from './parse-form.ts'
import { signedContent, signedNames } from './signed-content.ts'

/** Text is signed and sent in the charset that the field `charset` names; bytes as they are. */
export type NoticeFields = Readonly<Record<string, string | Buffer>>

/** Signs a notice as Alipay does, and posts it under the content type that Alipay really sends. */
export const signNotice = (fields: NoticeFields, privateKey: KeyObject) => ({
  headers: { 'content-type': 'application/x-www-form-urlencoded; text/html; charset=UTF-8' },
  rawBody: Buffer.from(signForm(fields, privateKey)),
})

/** The query with which Alipay sends the buyer's browser back to the return address; what follows the `?`. */
export const signReturn = (fields: NoticeFields, privateKey: KeyObject): string => signForm(fields, privateKey)

/**
 * The answer of a query: what is signed is the text of the answer itself, as it lies in the body.
 * @param method as in `alipay.trade.query`
 * @param certSn of Alipay's certificate, in certificate mode
 */
export function signAnswer(method: string, answer: object, privateKey: KeyObject, certSn?: string): string {
  const text = JSON.stringify(answer)
  const signature = sign('RSA-SHA256', Buffer.from(text), privateKey).toString('base64')
  const named = certSn === undefined ? '' : `"alipay_cert_sn":"${certSn}",`
  return `{"${method.replaceAll('.', '_')}_response":${text},${named}"sign":"${signature}"}`
}

function signForm(fields: NoticeFields, privateKey: KeyObject): string {
  const unsigned = encodeForm(fields)
  const form = parseForm(Buffer.from(unsigned))
  if (form === undefined) throw new Error('a notice needs fields with ASCII names')
  const signature = sign('RSA-SHA256', signedContent(form, signedNames(form)), privateKey).toString('base64')
  return `${unsigned}&${encodeForm({ sign: signature })}`
}

/** Percent-encodes the bytes of each value, whatever their charset. */
export function encodeForm(fields: NoticeFields): string {
  const { charset = 'utf-8' } = fields
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${encode(typeof value === 'string' ? encodeText(value, String(charset)) : value)}`)
    .join('&')
}

const encode = (value: Buffer) =>
  value
    .toString('latin1')
    .replace(/[^A-Za-z0-9_.*-]/g, (char) =>
      char === ' ' ? '+' : `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    )

/** A time as Alipay writes it: Beijing's, without a zone. */
export const alipayTime = (at: Date) => alipayTimeMs(at).slice(0, 19)

/** With milliseconds, as `gmt_refund` has them. */
export const alipayTimeMs = (at: Date) => inBeijing(at).replace('T', ' ')
