/** Finds where requests of the Kafka protocol begin in a stream: four bytes of size, two of the api's key. */
export interface KafkaFrames {
  /** @returns the place in the chunk at which the first request of one of the keys begins; undefined: none does */
  readonly find: (chunk: Buffer, apiKeys: readonly number[]) => number | undefined
}

const HEAD_BYTES = 6

export function kafkaFrames(): KafkaFrames {
  let rest = 0
  let head = Buffer.alloc(0)
  return {
    find: (chunk, apiKeys) => {
      let found: number | undefined
      for (let at = 0; at < chunk.length;) {
        if (rest > 0) {
          const passed = Math.min(rest, chunk.length - at)
          rest -= passed
          at += passed
          continue
        }
        const missing = HEAD_BYTES - head.length
        // Of a head that began in the chunk before, the beginning has passed already: it counts from here.
        const beganAt = head.length === 0 ? at : 0
        head = Buffer.concat([head, chunk.subarray(at, at + missing)])
        at += Math.min(missing, chunk.length - at)
        if (head.length < HEAD_BYTES) break
        if (apiKeys.includes(head.readInt16BE(4))) found ??= beganAt
        rest = head.readInt32BE(0) - 2
        head = Buffer.alloc(0)
      }
      return found
    },
  }
}
