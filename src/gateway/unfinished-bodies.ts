export interface UnfinishedLimits {
  /** Bodies under way at once. */
  readonly unfinishedMax: number
  /** What they may take together. */
  readonly unfinishedBytesMax: number
}

export interface Unfinished {
  bytes: number
  readonly crowdOut: () => void
}

/**
 * Counts bodies that have begun and not ended. When they take too much, the oldest has to go: a genuine body is
 * complete within milliseconds, so that ten thousand slow senders crowd out each other before anyone else.
 */
export function createUnfinished({ unfinishedMax, unfinishedBytesMax }: UnfinishedLimits) {
  const oldestFirst = new Set<Unfinished>()
  let bytes = 0
  const end = (entry: Unfinished): void => {
    if (oldestFirst.delete(entry)) bytes -= entry.bytes
  }
  const makeRoom = () => {
    for (const oldest of oldestFirst) {
      if (oldestFirst.size <= unfinishedMax && bytes <= unfinishedBytesMax) return
      end(oldest)
      oldest.crowdOut()
    }
  }
  return {
    begin: (crowdOut: () => void): Unfinished => {
      const entry = { bytes: 0, crowdOut }
      oldestFirst.add(entry)
      if (oldestFirst.size > unfinishedMax) makeRoom()
      return entry
    },
    resize: (entry: Unfinished, to: number): void => {
      bytes += to - entry.bytes
      entry.bytes = to
      if (bytes > unfinishedBytesMax) makeRoom()
    },
    end,
  }
}
