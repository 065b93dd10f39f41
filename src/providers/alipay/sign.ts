import { sign, type KeyObject } from 'node:crypto'
import { parseForm } from './parse-form.ts'
import { signedContent, signedNames } from './signed-content.ts'

/** Values in the notice's charset; text is UTF-8. */
export type NoticeFields = Readonly<Record<string, string | Buffer>>

/** Signs a notice as Alipay does, and posts it under the content type that Alipay really sends. */
export function signNotice(fields: NoticeFields, privateKey: KeyObject) {
  const unsigned = encodeForm(fields)
  const form = parseForm(Buffer.from(unsigned))
  if (form === undefined) throw new Error('a notice needs fields with ASCII names')
  const signature = sign('RSA-SHA256', signedContent(form, signedNames(form)), privateKey).toString('base64')
  return {
    headers: { 'content-type': 'application/x-www-form-urlencoded; text/html; charset=UTF-8' },
    rawBody: Buffer.from(`${unsigned}&${encodeForm({ sign: signature })}`),
  }
}

/** Percent-encodes the bytes of each value, whatever their charset. */
export const encodeForm = (fields: NoticeFields): string =>
  Object.entries(fields)
    .map(([name, value]) => `${name}=${encode(Buffer.from(value))}`)
    .join('&')

const encode = (value: Buffer) =>
  value
    .toString('latin1')
    .replace(/[^A-Za-z0-9_.*-]/g, (char) =>
      char === ' ' ? '+' : `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    )

/** A time as Alipay writes it: Beijing's, without a zone. */
export const alipayTime = (at: Date) =>
  new Date(at.getTime() + 8 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ')
