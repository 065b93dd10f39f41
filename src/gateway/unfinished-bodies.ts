export interface UnfinishedLimits {
  /** Bodies of which a part is there. */
  readonly unfinishedMax: number
  /** What they may take together. */
  readonly unfinishedBytesMax: number
}

export interface UnfinishedBody {
  bytes: number
  /** Must end it. */
  readonly crowdOut: () => void
}

/**
 * Counts bodies that have begun and not ended. When they take too much, the oldest has to go: a genuine body is
 * complete within milliseconds, so that ten thousand slow senders crowd out each other before anyone else.
 */
export function createUnfinished({ unfinishedMax, unfinishedBytesMax }: UnfinishedLimits) {
  const oldestFirst = new Set<UnfinishedBody>()
  let bytes = 0
  const end = (entry: UnfinishedBody): void => {
    if (oldestFirst.delete(entry)) bytes -= entry.bytes
  }
  const makeRoom = () => {
    for (const oldest of oldestFirst) {
      if (oldestFirst.size <= unfinishedMax && bytes <= unfinishedBytesMax) return
      oldest.crowdOut()
    }
  }
  return {
    begin: (crowdOut: () => void): UnfinishedBody => {
      const entry = { bytes: 0, crowdOut }
      oldestFirst.add(entry)
      return entry
    },
    /** Who takes too much may be crowded out by this, or crowd out others. */
    resize: (entry: UnfinishedBody, to: number): void => {
      bytes += to - entry.bytes
      entry.bytes = to
      if (bytes > unfinishedBytesMax || oldestFirst.size > unfinishedMax) makeRoom()
    },
    end,
  }
}
