import type { Sample } from './capture.ts'

/** A heap that has just begun grows; what comes later must not. */
const SETTLED_MS = 60_000
/** A shorter life has no slope to speak of. */
const LIFE_MS_MIN = 180_000

/** Samples come every 2 s: what follows a longer gap is another process with a pid that was free again. */
const GAP_MS_MAX = 10_000

/** The slope of a line through the memory of each process that lived long enough, by least squares. */
export function slopesPerMin(samples: readonly Sample[]): Map<string, number> {
  const memory = samples.filter(({ what }) => what === 'rss_bytes').toSorted((a, b) => a.atMs - b.atMs)
  const slopes = new Map<string, number>()
  for (const [name, some] of Map.groupBy(memory, ({ name, pid }) => `${name} (${pid ?? '?'})`))
    for (const life of livesOf(some)) {
      const slope = slopeOf(life)
      if (slope !== undefined) slopes.set(name, Math.max(slope, slopes.get(name) ?? slope))
    }
  return slopes
}

function livesOf(samples: readonly Sample[]): Sample[][] {
  const lives: Sample[][] = []
  for (const sample of samples) {
    const life = lives.at(-1)
    if (life !== undefined && sample.atMs - (life.at(-1)?.atMs ?? 0) <= GAP_MS_MAX) life.push(sample)
    else lives.push([sample])
  }
  return lives
}

function slopeOf(life: readonly Sample[]): number | undefined {
  const [bornMs, diedMs] = [life[0]?.atMs ?? 0, life.at(-1)?.atMs ?? 0]
  const settled = life.filter(({ atMs }) => atMs - bornMs >= SETTLED_MS)
  if (diedMs - bornMs < LIFE_MS_MIN || settled.length < 2) return undefined
  const mean = (of: (one: Sample) => number) => settled.reduce((sum, one) => sum + of(one), 0) / settled.length
  const [meanMs, meanBytes] = [mean(({ atMs }) => atMs), mean(({ value }) => value)]
  const covariance = mean(({ atMs, value }) => (atMs - meanMs) * (value - meanBytes))
  return (covariance / mean(({ atMs }) => (atMs - meanMs) ** 2)) * 60_000
}
