import type pg from 'pg'
import type { OutputReaders } from '../schemas/output-log.ts'
import type { LaneRow } from '../store/lane-row.ts'
import { anAppliedRecord } from '../store/rebuild-lane.ts'

/**
 * Kafka forgets a group's offsets with the topic. One that was made anew ends before `applied_offset` at first, and after
 * it later: going on there would pass over records in silence.
 * @returns undefined: the topic has a record that Postgres has applied, at its place
 */
export async function otherLog(
  pool: pg.Pool,
  { partitions }: OutputReaders,
  row: LaneRow,
  { start, end }: { readonly start: number; readonly end: number },
): Promise<string | undefined> {
  if (row.appliedOffset === row.startOffset && row.appliedOffset <= end) return undefined
  if (row.appliedOffset > end) return `${row.topic} ${row.lane} ends at ${end}, and ${row.appliedOffset} is applied`
  const applied = await anAppliedRecord(pool, row, start)
  if (applied === undefined) return `no record of ${row.topic} ${row.lane} is known to be one that was applied`
  const { records } = await partitions.read(row.topic, row.lane, applied.offset)
  const key = records.find(({ offset }) => offset === applied.offset)?.key?.toString()
  if (key === applied.outTradeNo) return undefined
  return `offset ${applied.offset} of ${row.topic} ${row.lane} was about ${applied.outTradeNo}, and is about ${key ?? 'nothing'}`
}
