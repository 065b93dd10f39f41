import { verify } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import { isFields, type Fields } from '../fields.ts'
import { refused, type Refused } from '../refuse.ts'
import { decodeSignature } from '../signature.ts'
import { parseStrictJson } from '../strict-json.ts'
import type { AlipayKey } from './config.ts'
import { CERT_SN } from './signed-content.ts'

/** An answer as it came, not verified yet. */
export interface OpenedAnswer {
  /** The object under the method's name, or under `error_response`. */
  readonly answer: Fields
  /** Its text as it lies in the body: what is signed. */
  readonly signed: string
  readonly sign: unknown
  readonly certSn: unknown
}

/** Undefined: no unambiguous JSON with such an object. */
export function openAnswer(rawBody: Buffer, method: string): OpenedAnswer | undefined {
  const text = isUtf8(rawBody) ? rawBody.toString() : ''
  const body = parseStrictJson(text)?.value
  if (!isFields(body)) return undefined
  const named = `${method.replaceAll('.', '_')}_response`
  const name = body[named] === undefined ? 'error_response' : named
  const { [name]: answer, sign, [CERT_SN]: certSn } = body
  const signed = memberText(text, name)
  return isFields(answer) && signed !== undefined ? { answer, signed, sign, certSn } : undefined
}

/**
 * Checks that an answer is Alipay's: RSA2 over its own text. Parsed and printed anew it would be another one, as
 * Alipay escapes slashes. A certificate that it names must be the one that signed.
 */
export function verifyAnswer(
  { signed, sign, certSn }: OpenedAnswer,
  keys: readonly AlipayKey[],
  now: Date,
): Refused | undefined {
  if (typeof sign !== 'string') return refused({ kind: 'malformed', field: 'sign' })
  const signature = decodeSignature(sign)
  if (signature === undefined) return refused({ kind: 'bad_signature' })
  const named = typeof certSn === 'string' && keys.some((key) => key.certSn !== null) ? certSn : undefined
  const valid = keys.filter((key) => key.validToMs >= now.getTime() && (named === undefined || key.certSn === named))
  if (valid.length === 0) return refused({ kind: 'unknown_key', keyId: (named ?? 'alipay').slice(0, 64) })
  const content = Buffer.from(signed)
  return valid.some(({ key }) => verify('RSA-SHA256', content, key, signature))
    ? undefined
    : refused({ kind: 'bad_signature' })
}

const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y

/** The text of a member of the outermost object, in text that is known to be unambiguous JSON. */
function memberText(json: string, name: string): string | undefined {
  let [at, depth, start] = [0, 0, -1]
  const stringAt = (from: number) => {
    STRING.lastIndex = from
    return STRING.exec(json)?.[0]
  }
  while (at < json.length) {
    const char = json.charAt(at)
    if (char === '"') {
      const text = stringAt(at) ?? ''
      const colon = /^\s*:\s*/.exec(json.slice(at + text.length))?.[0]
      at += text.length
      if (depth === 1 && colon !== undefined) {
        at += colon.length
        if (JSON.parse(text) === name) start = at
      }
      continue
    }
    if (depth === 1 && start >= 0 && (char === ',' || char === '}')) return json.slice(start, at).trimEnd()
    if (char === '{' || char === '[') depth += 1
    else if (char === '}' || char === ']') depth -= 1
    at += 1
  }
  return undefined
}
