import { hash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import { printable } from '../../runtime/printable.ts'

/** Bytes as a person can read and compare them. */
export interface EscapedBytes {
  readonly bytes: number
  /** The first 16 hexadecimal digits of SHA-256. */
  readonly sha256: string
  /** Text where it is UTF-8; what cannot be seen, or is none, as `\n`, `\u{feff}`, `\x{b2}`. The middle of a long one is left out. */
  readonly text: string
}

const HEAD_CHARS = 1_500
const TAIL_CHARS = 500

/** @param hide takes secrets out of a text; before it is cut, as half of one would not be found */
export function escapedBytes(bytes: Buffer, hide: (text: string) => string): EscapedBytes {
  const text = hide(isUtf8(bytes) ? escaped(bytes.toString()) : escapedLatin1(bytes.toString('latin1')))
  const cut = text.length - HEAD_CHARS - TAIL_CHARS
  return {
    bytes: bytes.length,
    sha256: hash('sha256', bytes).slice(0, 16),
    text: cut <= 100 ? text : `${text.slice(0, HEAD_CHARS)}… ${cut} characters …${text.slice(-TAIL_CHARS)}`,
  }
}

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' }

const escaped = (text: string) => printable(text.replace(/[\n\r\t\\]/g, (char) => NAMED[char] ?? char))
const escapedLatin1 = (text: string) =>
  text.replace(
    /[^\x20-\x5b\x5d-\x7e]/g,
    (char) => NAMED[char] ?? `\\x{${char.charCodeAt(0).toString(16).padStart(2, '0')}}`,
  )
