import type { End } from './life-state.ts'
import { endOf, type Step } from './life.ts'

/** A step that began to happen at `fromMs` and had happened at `untilMs`; null: perhaps it never did. */
export interface Timed {
  readonly step: Step
  readonly fromMs: number
  readonly untilMs: number | null
}

/** Ways to order the steps of one order that are followed; seven steps at once are 5,040. */
const WAYS_MAX = 6_000

/**
 * Every end that these steps can have: in each order in which they can have reached the system, and with or without
 * what perhaps never did. What was answered before another was sent came first: both are of one order, so that they lie
 * in one lane. A create or close is no record: what lies in the lane before it may still be decided after it.
 * @returns undefined if there are too many orders to follow
 */
export function ends(timeline: readonly Timed[]): End[] | undefined {
  const found = new Map<string, End>()
  let ways = 0
  const go = (done: readonly Step[], left: readonly Timed[]): void => {
    if (++ways > WAYS_MAX) return
    if (left.every(({ untilMs }) => untilMs === null)) {
      const end = endOf(done)
      found.set(JSON.stringify(end), end)
    }
    for (const next of left) {
      const others = left.filter((other) => other !== next)
      if (!others.some((other) => isBefore(other, next))) go([...done, next.step], others)
    }
  }
  go([], timeline)
  return ways > WAYS_MAX ? undefined : [...found.values()]
}

const isBefore = (a: Timed, b: Timed): boolean =>
  a.untilMs !== null && a.untilMs < b.fromMs && !(a.step.kind === 'message' && b.step.kind !== 'message')
