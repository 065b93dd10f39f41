import type pg from 'pg'
import type { Place } from './positions.ts'
import type { TakenBatch } from './take-in.ts'

const OF_RECORDS = 1_000
const UNREADABLE_MAX = 20

/**
 * So many records in a row that cannot be read are not the records' fault: a registry that was emptied, or is another's.
 * As dead letters none of their orders would be fulfilled.
 * @returns why the lane must wait for a person; undefined: take the batch in
 */
export async function tooManyUnreadable(
  pool: pg.Pool,
  { consumer, topic, lane }: Place,
  { endOffset, records }: TakenBatch,
): Promise<string | undefined> {
  const unreadable = records.filter((record) => record.kind === 'undecodable')
  const [first] = unreadable
  if (first === undefined) return undefined
  const { rows } = await pool.query<{ before: string }>(
    `select count(*) as before from paidonce_consumer.dead_letters
     where consumer = $1 and topic = $2 and lane = $3 and record_offset >= $4 and record_offset < $5
       and record_offset <> all ($6) and kind = 'undecodable'`,
    [consumer, topic, lane, Math.max(0, endOffset - OF_RECORDS), endOffset, unreadable.map(({ offset }) => offset)],
  )
  const count = Number(rows[0]?.before ?? 0) + unreadable.length
  if (count <= UNREADABLE_MAX) return undefined
  return `${count} of the last ${OF_RECORDS} records cannot be read, at ${first.offset}: ${first.detail}`
}
