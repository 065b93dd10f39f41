import type { Sample } from './capture.ts'

/** A heap that has just begun grows; what comes later must not. */
const SETTLED_MS = 60_000
/** A shorter life has no slope to speak of. */
const LIFE_MS_MIN = 180_000

/** The slope of a line through the memory of each process that lived long enough, by least squares. */
export function slopesPerMin(samples: readonly Sample[]): Map<string, number> {
  const lives = Map.groupBy(
    samples.filter(({ what }) => what === 'rss_bytes'),
    ({ name, pid }) => `${name} (${pid ?? '?'})`,
  )
  const slopes = new Map<string, number>()
  for (const [name, life] of lives) {
    const bornMs = Math.min(...life.map(({ atMs }) => atMs))
    const settled = life.filter(({ atMs }) => atMs - bornMs >= SETTLED_MS)
    if (Math.max(...life.map(({ atMs }) => atMs)) - bornMs < LIFE_MS_MIN || settled.length < 2) continue
    const mean = (of: (one: Sample) => number) => settled.reduce((sum, one) => sum + of(one), 0) / settled.length
    const [meanMs, meanBytes] = [mean(({ atMs }) => atMs), mean(({ value }) => value)]
    const covariance = mean(({ atMs, value }) => (atMs - meanMs) * (value - meanBytes))
    slopes.set(name, (covariance / mean(({ atMs }) => (atMs - meanMs) ** 2)) * 60_000)
  }
  return slopes
}
