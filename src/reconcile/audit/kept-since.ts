import type { Queryable } from '../../runtime/postgres.ts'
import { behind, nextOrdinary, writtenBetween } from '../../store/audit-events.ts'
import { importedRanges, type ImportedRange } from '../../store/imported-ranges.ts'
import { listLanes } from '../../store/lane-row.ts'

/** @returns the first ordinary number that is kept, and since when all is: infinity, if none is */
export async function keptOf(db: Queryable, lane: number, nextSeq: number, ranges: readonly ImportedRange[]) {
  const first = await nextOrdinary(db, lane, 0, ranges)
  const lowest = behind(ranges, 0)
  if (first !== undefined)
    return { oldest: first.laneSeq, keptSinceMs: first.laneSeq > lowest ? first.createdAtMs : undefined }
  // All that the lane ever numbered was brought back, or all else is dropped.
  if (lowest >= nextSeq) return { oldest: nextSeq, keptSinceMs: undefined }
  const window = { sinceMs: 0, untilMs: 0 }
  const kept = await Promise.all(ranges.map((range) => writtenBetween(db, lane, range, window)))
  return { oldest: nextSeq, keptSinceMs: Math.min(...kept.map(({ oldestMs }) => oldestMs ?? Infinity)) }
}

/** By lane, since when its events are kept; a lane that has lost none has no entry. */
export async function keptSince(db: Queryable, inputTopic: string): Promise<ReadonlyMap<number, number>> {
  const kept = new Map<number, number>()
  for (const { lane, nextSeq } of await listLanes(db, inputTopic)) {
    const { keptSinceMs } = await keptOf(db, lane, nextSeq, await importedRanges(db, inputTopic, lane))
    if (keptSinceMs !== undefined) kept.set(lane, keptSinceMs)
  }
  return kept
}
