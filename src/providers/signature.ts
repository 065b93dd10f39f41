/**
 * Bytes of a base64 signature in its one canonical spelling; undefined for any other. Node's decoder skips what it
 * does not know and ignores spare bits, so without this several texts would be one signature.
 */
export function decodeSignature(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length > 0 && bytes.toString('base64') === text ? bytes : undefined
}
