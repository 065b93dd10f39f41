import type { Queryable } from '../runtime/postgres.ts'
import { int, ms, rowsOf } from './statement.ts'

/** Numbers that a rebuild brought back from the topics, from, inclusive, below, exclusive, and when it did. */
export interface ImportedRange {
  readonly from: number
  readonly below: number
  readonly atMs: number
}

// Read from what the rebuild noted in its own transaction, as its numbers leave `imported_events` one by one.
const RANGES = {
  name: 'imported-ranges',
  text: `select target ->> 'ledger', target ->> 'imported', ${ms('at')} from operator_actions
    where action = 'lane_rebuild' and target ->> 'topic' = $1 and target ->> 'lane' = $2 order by id`,
}

/**
 * Where a lane's numbers do not rise with the time: the events of such a range were written again after the rebuild, in
 * the order in which they were derived, some of them much later. In the order of their numbers; no two overlap, as a
 * lane goes on numbering above them.
 * @param topic the input topic's full name
 */
export async function importedRanges(db: Queryable, topic: string, lane: number): Promise<ImportedRange[]> {
  const rows = await rowsOf<[ledger: unknown, imported: unknown, atMs: unknown]>(db, RANGES, [topic, String(lane)])
  return rows
    .map(([ledger, imported, atMs]) => ({ from: int(ledger) - int(imported), below: int(ledger), atMs: int(atMs) }))
    .filter(({ from, below }) => from < below)
    .sort((a, b) => a.from - b.from)
}

export const rangeOf = (ranges: readonly ImportedRange[], laneSeq: number): ImportedRange | undefined =>
  ranges.find(({ from, below }) => from <= laneSeq && laneSeq < below)
