/** `now` is for facts we store; `elapsedMs` never runs backwards, so it is for durations. */
export interface Clock {
  readonly now: () => Date
  readonly elapsedMs: () => number
}

export const systemClock: Clock = { now: () => new Date(), elapsedMs: () => performance.now() }
