/** Castagnoli's polynomial, bits reversed. */
const POLYNOMIAL = 0x82f63b78
const SLICES = 8

/** `TABLE[256 * k + b]` is what the byte b does to the sum when k bytes follow it. */
const TABLE = new Int32Array(256 * SLICES)
for (let byte = 0; byte < 256; byte++) {
  let sum = byte
  for (let bit = 0; bit < 8; bit++) sum = (sum & 1) === 1 ? (sum >>> 1) ^ POLYNOMIAL : sum >>> 1
  TABLE[byte] = sum
}
for (let i = 256; i < TABLE.length; i++) {
  const shorter = TABLE[i - 256] ?? 0
  TABLE[i] = (shorter >>> 8) ^ (TABLE[shorter & 0xff] ?? 0)
}

/** Every index is below the length. Two functions, as one for both kinds of array is three times slower. */
const entry = (index: number) => TABLE[index] as number
const byteOf = (bytes: Buffer, index: number) => bytes[index] as number

/**
 * CRC-32C, eight bytes a step. kafkajs takes one byte a step: 2.2 µs a kilobyte, here 0.6 to 1. Node's own
 * `zlib.crc32` is another polynomial.
 */
export function crc32c(bytes: Buffer, from = 0): number {
  const length = bytes.length
  let sum = -1
  let i = from
  for (const end = length - 7; i < end; i += SLICES) {
    sum ^= byteOf(bytes, i) | (byteOf(bytes, i + 1) << 8) | (byteOf(bytes, i + 2) << 16) | (byteOf(bytes, i + 3) << 24)
    sum =
      entry(1792 + (sum & 0xff)) ^
      entry(1536 + ((sum >>> 8) & 0xff)) ^
      entry(1280 + ((sum >>> 16) & 0xff)) ^
      entry(1024 + (sum >>> 24)) ^
      entry(768 + byteOf(bytes, i + 4)) ^
      entry(512 + byteOf(bytes, i + 5)) ^
      entry(256 + byteOf(bytes, i + 6)) ^
      entry(byteOf(bytes, i + 7))
  }
  for (; i < length; i++) sum = entry((sum ^ byteOf(bytes, i)) & 0xff) ^ (sum >>> 8)
  return ~sum >>> 0
}
