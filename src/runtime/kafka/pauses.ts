/**
 * Which partitions are not fetched, and until when. kafkajs forgets its own list when it restarts after a crash, so
 * ours is applied again at every join.
 */
export interface Pauses {
  /** Until `resume`. */
  readonly pause: (partition: number) => void
  /** For a while; shorter than a pause without end, if there is one. */
  readonly pauseFor: (partition: number, ms: number) => void
  readonly resume: (partition: number) => void
  readonly isPaused: (partition: number) => boolean
  readonly reapply: () => void
  readonly stop: () => void
}

export function createPauses(apply: (partition: number, paused: boolean) => void): Pauses {
  const paused = new Map<number, NodeJS.Timeout | undefined>()
  const set = (partition: number, timer: NodeJS.Timeout | undefined) => {
    clearTimeout(paused.get(partition))
    paused.set(partition, timer)
    apply(partition, true)
  }
  const resume = (partition: number) => {
    if (!paused.has(partition)) return
    clearTimeout(paused.get(partition))
    paused.delete(partition)
    apply(partition, false)
  }
  return {
    pause: (partition) => set(partition, undefined),
    pauseFor: (partition, ms) => {
      if (paused.has(partition) && paused.get(partition) === undefined) return
      set(
        partition,
        setTimeout(() => resume(partition), ms),
      )
    },
    resume,
    isPaused: (partition) => paused.has(partition),
    reapply: () => {
      for (const partition of paused.keys()) apply(partition, true)
    },
    stop: () => {
      for (const timer of paused.values()) clearTimeout(timer)
      paused.clear()
    },
  }
}
