/** Which numbers of a range were met: one bit each, so that ten million take 1.2 MB, and nothing where none is. */
export interface Seen {
  /** @returns false: it was met before */
  readonly add: (number: number) => boolean
  readonly has: (number: number) => boolean
}

const PAGE_BITS = 65_536

/** @param from the first number of the range, @param below the one after its last: however far away, it costs nothing */
export function createSeen(from: number, below: number): Seen {
  const pages = new Map<number, Uint8Array>()
  const placeOf = (number: number) => {
    if (number < from || number >= below) throw new RangeError(`${number} is not from ${from} to below ${below}`)
    const at = number - from
    return { page: Math.floor(at / PAGE_BITS), byte: Math.floor((at % PAGE_BITS) / 8), mask: 1 << (at % 8) }
  }
  return {
    add: (number) => {
      const { page, byte, mask } = placeOf(number)
      let bits = pages.get(page)
      if (bits === undefined) pages.set(page, (bits = new Uint8Array(PAGE_BITS / 8)))
      const before = bits[byte] ?? 0
      bits[byte] = before | mask
      return (before & mask) === 0
    },
    has: (number) => {
      const { page, byte, mask } = placeOf(number)
      return ((pages.get(page)?.[byte] ?? 0) & mask) !== 0
    },
  }
}
