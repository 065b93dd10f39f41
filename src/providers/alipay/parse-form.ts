const AMPERSAND = 38
const PERCENT = 37
const PLUS = 43
const EQUALS = 61
const SPACE = 32
/** Alipay sends about 30 fields; the body itself is bounded by whoever reads it. */
const FIELDS_MAX = 200

/** The fields of a form, decoded exactly once and still in the charset in which they were signed. */
export type Form = ReadonlyMap<string, Buffer>

/**
 * Splits first and decodes each part then, byte by byte, so that `%3D%3D` stays the padding of `sign`, a `+` in a
 * subject stays one, and GBK survives. No framework's parser is used: Alipay's own content type,
 * `application/x-www-form-urlencoded; text/html; charset=UTF-8`, is not one that they accept.
 * @returns undefined for a field that comes twice, a broken `%`, a name that is not ASCII, or too many fields
 * @see https://github.com/expressjs/body-parser/issues/137
 */
export function parseForm(body: Buffer): Form | undefined {
  const form = new Map<string, Buffer>()
  const decoded = Buffer.allocUnsafe(body.length)
  let to = 0
  for (let from = 0; from < body.length; from++) {
    const start = to
    let equals = -1
    for (; from < body.length; from++) {
      const byte = body[from] ?? 0
      if (byte === AMPERSAND) break
      if (byte === EQUALS && equals === -1) equals = to
      if (byte === PERCENT) {
        const value = (hex(body[from + 1]) << 4) | hex(body[from + 2])
        if (value < 0) return undefined
        decoded[to++] = value
        from += 2
      } else decoded[to++] = byte === PLUS ? SPACE : byte
    }
    if (to === start) continue
    if (equals === -1) return undefined
    const name = decoded.toString('latin1', start, equals)
    if (!NAME.test(name) || form.has(name) || form.size === FIELDS_MAX) return undefined
    form.set(name, decoded.subarray(equals + 1, to))
  }
  return form
}

const NAME = /^[a-zA-Z0-9_.-]{1,64}$/

/** Value of a hexadecimal digit; -1 for anything else, which keeps its sign through shift and or. */
function hex(byte = 0): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}
