const SEED = 0x9747b28c
const M = 0x5bd1e995
const R = 24

/** Kafka's murmur2 (org.apache.kafka.common.utils.Utils), as a signed 32-bit integer. */
export function murmur2(data: Uint8Array): number {
  const length = data.length
  let h = SEED ^ length
  let i = 0
  for (; i + 4 <= length; i += 4) {
    let k = byteAt(data, i) | (byteAt(data, i + 1) << 8) | (byteAt(data, i + 2) << 16) | (byteAt(data, i + 3) << 24)
    k = Math.imul(k, M)
    k ^= k >>> R
    h = Math.imul(h, M) ^ Math.imul(k, M)
  }
  const rest = length - i
  if (rest >= 3) h ^= byteAt(data, i + 2) << 16
  if (rest >= 2) h ^= byteAt(data, i + 1) << 8
  if (rest >= 1) h = Math.imul(h ^ byteAt(data, i), M)
  h ^= h >>> 13
  h = Math.imul(h, M)
  return h ^ (h >>> 15)
}

function byteAt(data: Uint8Array, index: number): number {
  return data[index] ?? 0
}

/** The partition that Kafka's own producers choose for a key, so that any language's producer meets the same lane. */
export function partitionFor(key: string | Buffer, count: number): number {
  return (murmur2(typeof key === 'string' ? Buffer.from(key) : key) & 0x7fffffff) % count
}
