import { setTimeout as sleep } from 'node:timers/promises'
import type { LaneState, LaneWatch } from '../../dev/demo/lanes.ts'

/** Waits until every lane is read and emitted. @returns how long it took, or where they stood at the deadline */
export async function untilDrained(
  lanes: LaneWatch,
  partitions: number,
  deadlineMs: number,
): Promise<{ kind: 'drained'; ms: number } | { kind: 'late'; lanes: readonly LaneState[] }> {
  const startedMs = performance.now()
  let last: LaneState[] = []
  for (;;) {
    last = await lanes.read().catch(() => last)
    const isDone =
      last.length === partitions && last.every(({ lag, nextSeq, ledger }) => lag === 0 && nextSeq === ledger)
    const ms = performance.now() - startedMs
    if (isDone) return { kind: 'drained', ms }
    if (ms > deadlineMs) return { kind: 'late', lanes: last }
    await sleep(100)
  }
}
