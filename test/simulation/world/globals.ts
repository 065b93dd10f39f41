import type { Happening } from './queue.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'

const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setImmediate: globalThis.setImmediate,
  random: Math.random.bind(Math),
}

/** What `setTimeout` gives back. */
interface Timer {
  readonly happening: Happening
  readonly ref: () => Timer
  readonly unref: () => Timer
}

/**
 * Puts this thread's timers and random numbers under the scheduler, as the product and kafkajs use them directly.
 * @returns puts the real ones back
 */
export function takeGlobals(scheduler: Scheduler, random: Random): () => void {
  const later = (what: string, delayMs: number | undefined, run: () => void): Timer => {
    const happening = scheduler.at(delayMs ?? 0, scheduler.current(), what, run)
    const timer: Timer = { happening, ref: () => timer, unref: () => timer }
    return timer
  }
  Object.assign(globalThis, {
    setTimeout: (run: (...args: unknown[]) => void, delayMs?: number, ...args: unknown[]) =>
      later('timer', delayMs, () => run(...args)),
    clearTimeout: (timer: Timer | undefined) => {
      if (timer !== undefined) scheduler.cancel(timer.happening)
    },
    setImmediate: (run: (...args: unknown[]) => void, ...args: unknown[]) => later('turn', 0, () => run(...args)),
  })
  Math.random = random.next
  return () => {
    const { random: realRandom, ...timers } = real
    Object.assign(globalThis, timers)
    Math.random = realRandom
  }
}
