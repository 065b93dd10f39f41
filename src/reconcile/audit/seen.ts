/** Which numbers of a range were met: one bit each, so that ten million take 1.2 MB. */
export interface Seen {
  /** @returns false: it was met before */
  readonly add: (number: number) => boolean
  readonly has: (number: number) => boolean
}

/** @param from the first number of the range, @param below the one after its last */
export function createSeen(from: number, below: number): Seen {
  const bits = new Uint8Array(Math.ceil(Math.max(0, below - from) / 8))
  const placeOf = (number: number) => {
    if (number < from || number >= below) throw new RangeError(`${number} is not from ${from} to below ${below}`)
    const at = number - from
    return { byte: Math.floor(at / 8), mask: 1 << (at % 8) }
  }
  return {
    add: (number) => {
      const { byte, mask } = placeOf(number)
      const before = bits[byte] ?? 0
      bits[byte] = before | mask
      return (before & mask) === 0
    },
    has: (number) => {
      const { byte, mask } = placeOf(number)
      return ((bits[byte] ?? 0) & mask) !== 0
    },
  }
}
