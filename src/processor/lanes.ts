import type { InputHandlers } from '../runtime/kafka/port.ts'
import type { Lane, LaneView } from './lane.ts'

/** The lanes that this process owns, as the consumer group deals them out. */
export interface Lanes {
  readonly handlers: Pick<InputHandlers, 'onAssigned' | 'onBatch' | 'onOutOfRange'>
  readonly wake: (lane: number) => void
  /** Waits for none of them: a slow lane must not slow the others' timers. A lane that is not done is asked once. */
  readonly wakeAll: () => void
  readonly views: () => LaneView[]
  /** How often the group has dealt out its lanes to us. */
  readonly joins: () => number
  /** A stop begins: from now on no lane fences; what is in work goes on. */
  readonly retire: () => void
  readonly stop: () => Promise<void>
}

export function createLanes(create: (lane: number, joins: () => number) => Lane, onJoin: () => void): Lanes {
  const owned = new Map<number, Lane>()
  const known = new Map<number, Lane>()
  let joins = 0
  let isRetired = false
  const laneOf = (lane: number): Lane => {
    const found = known.get(lane) ?? create(lane, () => joins)
    known.set(lane, found)
    return found
  }
  return {
    handlers: {
      onAssigned: (partitions) => {
        if (isRetired) return
        joins++
        onJoin()
        for (const [number, lane] of owned) {
          if (partitions.includes(number)) continue
          owned.delete(number)
          lane.revoked()
        }
        for (const number of partitions) {
          const lane = laneOf(number)
          owned.set(number, lane)
          lane.assigned()
        }
      },
      onBatch: (batch, control) => laneOf(batch.partition).onBatch(batch, control),
      onOutOfRange: (partition) => laneOf(partition).onOutOfRange(),
    },
    wake: (lane) => void owned.get(lane)?.wake(),
    wakeAll: () => {
      for (const lane of owned.values()) void lane.wake()
    },
    views: () => [...owned.values()].map((lane) => lane.view()).sort((a, b) => a.lane - b.lane),
    joins: () => joins,
    retire: () => {
      isRetired = true
      for (const lane of known.values()) lane.retire()
    },
    stop: async () => {
      owned.clear()
      await Promise.all([...known.values()].map((lane) => lane.stop()))
    },
  }
}
