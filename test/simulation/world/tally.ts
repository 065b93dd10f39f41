/** How often something really happened. */
export interface Tally {
  readonly count: (what: string, times?: number) => void
  readonly all: () => Readonly<Record<string, number>>
}

export function createTally(): Tally {
  const counts = new Map<string, number>()
  return {
    count: (what, times = 1) => void counts.set(what, (counts.get(what) ?? 0) + times),
    all: () => Object.fromEntries(counts),
  }
}

/** Adds up what several have counted. */
export function sumOf(tallies: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const tally of tallies) for (const [what, times] of Object.entries(tally)) sum[what] = (sum[what] ?? 0) + times
  return sum
}
