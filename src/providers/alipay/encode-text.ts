import { TextDecoder } from 'node:util'

/** Charsets whose two-byte characters are those of GBK. */
const GBK = new Set(['gbk', 'gb2312', 'gb18030'])

/**
 * Bytes of a text in a notice's charset. Node encodes UTF-8 only; what the simulator and the tests sign in GBK comes
 * from turning its decoder round, once.
 * @throws Error the charset has no such character in two bytes
 */
export function encodeText(text: string, charset: string): Buffer {
  if (!GBK.has(charset.toLowerCase())) return Buffer.from(text)
  const bytes: number[] = []
  for (const char of text) {
    const code = char < '\x80' ? char.charCodeAt(0) : gbkCodes().get(char)
    if (code === undefined) throw new Error(`GBK has no two bytes for ${JSON.stringify(char)}`)
    if (code > 0xff) bytes.push(code >> 8)
    bytes.push(code & 0xff)
  }
  return Buffer.from(bytes)
}

let codes: ReadonlyMap<string, number> | undefined

function gbkCodes(): ReadonlyMap<string, number> {
  if (codes !== undefined) return codes
  const decoder = new TextDecoder('gbk')
  const found = new Map<string, number>()
  for (let lead = 0x81; lead <= 0xfe; lead++)
    for (let trail = 0x40; trail <= 0xfe; trail++) {
      const text = decoder.decode(Uint8Array.of(lead, trail))
      if (text.length === 1 && text !== '\ufffd' && !found.has(text)) found.set(text, (lead << 8) | trail)
    }
  return (codes = found)
}
