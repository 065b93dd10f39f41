import { setTimeout as sleep } from 'node:timers/promises'
import type { LaneWatch } from '../../dev/demo/lanes.ts'

const LOOK_MS = 250

/**
 * Waits, under load, until every record that is in the topic by now is read, applied and emitted: a lane's offset moves
 * with its events, in one Kafka transaction.
 * @returns how long it took; undefined: not within the deadline
 */
export async function untilCaughtUp(lanes: LaneWatch, deadlineMs: number): Promise<number | undefined> {
  const startedMs = performance.now()
  let targets: Map<number, number> | undefined
  while (performance.now() - startedMs < deadlineMs) {
    const now = await lanes.read().catch(() => [])
    if (now.length > 0) {
      targets ??= new Map(now.map(({ lane, end }) => [lane, end]))
      const isThere = now.every(({ lane, end, lag }) => end - lag >= (targets?.get(lane) ?? 0))
      if (isThere) return performance.now() - startedMs
    }
    await sleep(LOOK_MS)
  }
  return undefined
}
