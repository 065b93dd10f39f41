import { sign, type KeyObject } from 'node:crypto'
import { signedContent } from './verify.ts'

/** A value in the notice's charset; text is UTF-8. Null leaves the field out. */
export type Fields = Readonly<Record<string, string | Buffer | null>>

/** Signs a notice as Alipay does, and puts it into the form that Alipay posts. `sign` given wins over the true one. */
export function signNotice(fields: Fields, privateKey: KeyObject) {
  const form = new Map<string, Buffer>()
  for (const [name, value] of Object.entries(fields)) if (value !== null) form.set(name, Buffer.from(value))
  const names = [...form.keys()].filter((name) => name !== 'sign' && name !== 'sign_type').sort()
  const signature = sign('RSA-SHA256', signedContent(form, names), privateKey).toString('base64')
  if (!form.has('sign')) form.set('sign', Buffer.from(signature))
  return {
    headers: { 'content-type': 'application/x-www-form-urlencoded; text/html; charset=UTF-8' },
    rawBody: encodeForm(form),
  }
}

/** Percent-encodes the bytes of each value, whatever their charset. */
export const encodeForm = (form: ReadonlyMap<string, Buffer>) =>
  Buffer.from([...form].map(([name, value]) => `${name}=${encode(value)}`).join('&'))

const encode = (value: Buffer) =>
  value
    .toString('latin1')
    .replace(/[^A-Za-z0-9_.*-]/g, (char) =>
      char === ' ' ? '+' : `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    )

/** A time as Alipay writes it: Beijing's, without a zone. */
export const alipayTime = (at: Date) =>
  new Date(at.getTime() + 8 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ')
