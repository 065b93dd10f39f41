const AMPERSAND = 38
const PERCENT = 37
const PLUS = 43
const SPACE = 32
/** Alipay sends about 30 fields; the body itself is bounded by whoever reads it. */
const FIELDS_MAX = 200
const NAME = /^[a-zA-Z0-9_.-]{1,64}$/

/** Value of a hexadecimal digit; -1 for anything else, which keeps its sign through shift and or. */
const HEX = Int8Array.from({ length: 256 }, (_, code) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(code).toLowerCase()),
)

/** A form decoded exactly once, its values still in the charset in which they were signed. */
export interface Form {
  readonly bytes: Buffer
  /** The same, a character for each byte: slices of it are cheaper than views of the bytes. */
  readonly latin1: string
  /** Where a field's value lies in both: a view for each would cost more than the decoding. */
  readonly spans: ReadonlyMap<string, Span>
}
export interface Span {
  readonly start: number
  readonly end: number
}

/**
 * Splits first and decodes each part then, byte by byte, so that `%3D%3D` stays the padding of `sign`, a `+` in a
 * subject stays one, and GBK survives. No framework's parser is used: Alipay's own content type,
 * `application/x-www-form-urlencoded; text/html; charset=UTF-8`, is not one that they accept.
 * @returns undefined for a field that comes twice, a broken `%`, another name than Alipay's are, too many fields, or none
 * @see https://github.com/expressjs/body-parser/issues/137
 */
export function parseForm(body: Buffer): Form | undefined {
  const text = body.toString('latin1')
  const size = body.length
  const spans = new Map<string, Span>()
  const bytes = Buffer.allocUnsafe(size)
  let end = 0
  for (let at = 0; at < size; at++) {
    const equals = text.indexOf('=', at)
    const name = text.slice(at, equals)
    if (equals === -1 || !NAME.test(name) || spans.has(name) || spans.size === FIELDS_MAX) return undefined
    const start = end
    for (at = equals + 1; at < size; at++) {
      const byte = body[at] ?? 0
      if (byte === AMPERSAND) break
      if (byte === PERCENT) {
        const value = ((HEX[body[at + 1] ?? 0] ?? -1) << 4) | (HEX[body[at + 2] ?? 0] ?? -1)
        if (value < 0) return undefined
        bytes[end++] = value
        at += 2
      } else bytes[end++] = byte === PLUS ? SPACE : byte
    }
    spans.set(name, { start, end })
  }
  return spans.size === 0 ? undefined : { bytes, latin1: bytes.toString('latin1', 0, end), spans }
}

/** A field in ASCII, as `sign` and `charset` are; undefined if it is absent. */
export function asciiField({ latin1, spans }: Form, name: string): string | undefined {
  const span = spans.get(name)
  return span && latin1.slice(span.start, span.end)
}
