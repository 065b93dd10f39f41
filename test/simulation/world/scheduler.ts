import { createQueue, type Happening, type Host } from './queue.ts'

/** When simulated time is 0. */
export const BASE_MS = 1_790_000_000_000

/** Before anything replaces them. */
const turn = globalThis.setImmediate

/**
 * The world's only source of order: one thing happens at a time, in the order of simulated time, and everything that
 * follows from it within the process (its microtasks) has happened before the next one.
 */
export interface Scheduler {
  readonly nowMs: () => number
  /** Milliseconds since 1970, whole. */
  readonly wallMs: () => number
  readonly steps: () => number
  /** Who is running: timers that are set belong to it. */
  readonly current: () => Host | undefined
  readonly at: (delayMs: number, host: Host | undefined, what: string, run: () => void) => Happening
  readonly cancel: (happening: Happening) => void
  readonly host: (name: string) => Host
  readonly freeze: (host: Host) => void
  readonly thaw: (host: Host) => void
  readonly end: (host: Host) => void
  /** @returns when `isOver` says so, nothing is left, or the limits are reached */
  readonly run: (isOver: () => boolean, limits: { readonly steps: number; readonly ms: number }) => Promise<void>
  /** Of all that happened so far, in order. */
  readonly digest: () => string
  /** Adds to the digest. */
  readonly note: (what: string) => void
}

/** @param afterEach called after each step; faults strike here, between steps */
export function createScheduler(afterEach: () => void, trace?: (line: string) => void): Scheduler {
  const queue = createQueue()
  let nowMs = 0
  let steps = 0
  let order = 0
  let current: Host | undefined
  let hashA = 0x811c9dc5
  let hashB = 0x01000193

  const note = (what: string) => {
    for (let index = 0; index < what.length; index++) {
      const code = what.charCodeAt(index)
      hashA = Math.imul(hashA ^ code, 0x01000193)
      hashB = Math.imul(hashB + code, 0x85ebca6b) ^ (hashB >>> 13)
    }
    hashA ^= nowMs | 0
  }
  const push = (happening: Happening) => {
    if (happening.host?.state === 'gone') return
    if (happening.host?.state === 'frozen' && happening.atMs <= nowMs) happening.host.waiting.push(happening)
    else queue.push(happening)
  }
  const step = (happening: Happening): boolean => {
    const { host, run } = happening
    if (run === undefined || host?.state === 'gone') return false
    if (host?.state === 'frozen') {
      host.waiting.push(happening)
      return false
    }
    happening.run = undefined
    steps++
    current = host
    note(happening.what)
    trace?.(`${nowMs.toFixed(2)} ${host?.name ?? '·'} ${happening.what}`)
    run()
    return true
  }
  return {
    nowMs: () => nowMs,
    wallMs: () => BASE_MS + Math.floor(nowMs),
    steps: () => steps,
    current: () => current,
    at: (delayMs, host, what, run) => {
      const happening: Happening = { atMs: nowMs + Math.max(0, delayMs), order: order++, host, what, run }
      push(happening)
      return happening
    },
    cancel: (happening) => (happening.run = undefined),
    host: (name) => ({ name, state: 'up', waiting: [] }),
    freeze: (host) => {
      if (host.state === 'up') host.state = 'frozen'
    },
    thaw: (host) => {
      if (host.state !== 'frozen') return
      host.state = 'up'
      for (const happening of host.waiting.splice(0)) queue.push({ ...happening, atMs: nowMs })
    },
    end: (host) => {
      host.state = 'gone'
      host.waiting.length = 0
    },
    run: async (isOver, limits) => {
      while (!isOver() && steps < limits.steps) {
        const happening = queue.pop()
        if (happening === undefined) return
        if (happening.atMs > limits.ms) {
          queue.push(happening)
          return
        }
        nowMs = Math.max(nowMs, happening.atMs)
        if (!step(happening)) continue
        await new Promise<void>((resolve) => turn(resolve))
        current = undefined
        afterEach()
      }
    },
    digest: () => ((hashA >>> 0) * 2_097_152 + ((hashB >>> 0) & 0x1fffff)).toString(16),
    note,
  }
}
