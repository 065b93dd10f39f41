import type pg from 'pg'
import type { Owner } from './change-row.ts'
import type { Place } from './positions.ts'

/**
 * Writes whose the lane is. A run that ends in order lets it go (`releaseLanes`); where another's name is left, that one
 * ended with events in work, or has not yet heard that the lane is no longer its own.
 * @returns the last row that was open then, which may have ended it; undefined: it was let go
 */
export async function claimLane(
  pool: pg.Pool,
  { consumer, topic, lane }: Place,
  run: string,
): Promise<number | undefined> {
  const { rows } = await pool.query<{ before: string | null }>(
    `with known as (
       select taken_by from paidonce_consumer.positions
       where consumer = $1 and topic = $2 and lane = $3 for no key update)
     update paidonce_consumer.positions set taken_by = $4 from known
     where consumer = $1 and topic = $2 and lane = $3 returning known.taken_by as before`,
    [consumer, topic, lane, run],
  )
  const before = rows[0]?.before ?? undefined
  if (before === undefined || before === run) return undefined
  const { rows: open } = await pool.query<{ last: string | null }>(
    'select max(seq) as last from paidonce_consumer.inbox where consumer = $1 and lane = $2 and settled_at is null',
    [consumer, lane],
  )
  return Number(open[0]?.last ?? 0)
}

/** Nothing of them is in work any more. @param lanes without them: all */
export async function releaseLanes(
  pool: pg.Pool,
  { consumer, topic }: Owner,
  run: string,
  lanes?: readonly number[],
): Promise<void> {
  await pool.query(
    `update paidonce_consumer.positions set taken_by = null
     where consumer = $1 and topic = $2 and taken_by = $3 and ($4::int[] is null or lane = any ($4))`,
    [consumer, topic, run, lanes ?? null],
  )
}
