import type { Clock } from '../runtime/clock.ts'

/** How often one merchant asks one provider. */
export interface RateLimit {
  /** Takes a turn. @returns 0, or how many milliseconds until there is one; then none was taken */
  readonly take: () => number
  /**
   * The provider said that it is too much: nobody asks before that many milliseconds have passed, a second where it
   * does not say, twice as long each time in a row, a minute at most. @returns how long that is
   */
  readonly slowDown: (saidMs?: number) => number
  /** It answered again. */
  readonly recover: () => void
}

const PAUSE_MS = 1_000
const PAUSE_MS_MAX = 60_000
/** What a provider may ask for. */
export const SAID_MS_MAX = 3_600_000

/** A bucket of as many turns as come in a second (one at least), full at the start. */
export function createRateLimit(perSec: number, clock: Pick<Clock, 'elapsedMs'>): RateLimit {
  const capacity = Math.max(1, perSec)
  let turns = capacity
  let atMs = clock.elapsedMs()
  let pausedUntilMs = -Infinity
  let pauseMs = PAUSE_MS
  return {
    take: () => {
      const nowMs = clock.elapsedMs()
      turns = Math.min(capacity, turns + ((nowMs - atMs) * perSec) / 1_000)
      atMs = nowMs
      if (nowMs < pausedUntilMs) return Math.ceil(pausedUntilMs - nowMs)
      // A turn that is missing the last bit of a sum of fractions is one.
      if (turns < 1 - 1e-9) return Math.ceil(((1 - turns) * 1_000) / perSec)
      turns -= 1
      return 0
    },
    slowDown: (saidMs) => {
      const waitMs = saidMs === undefined ? pauseMs : Math.min(saidMs, SAID_MS_MAX)
      pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)
      pausedUntilMs = Math.max(pausedUntilMs, clock.elapsedMs() + waitMs)
      return waitMs
    },
    recover: () => {
      pauseMs = PAUSE_MS
    },
  }
}
