import type { Clock } from '../runtime/clock.ts'
import type { Queryable } from '../runtime/postgres.ts'

/** What is dropped by a wrong clock never comes back, and a day later is early enough for all of it. */
export const SKEW_MS_MAX = 3_600_000

/** This machine's clock is not Postgres', so that nobody knows which days are past their time. Nothing was done. */
export class WrongClock extends Error {
  override readonly name = 'WrongClock'
}

/** @throws WrongClock */
export async function checkClock(db: Queryable, clock: Pick<Clock, 'now'>, skewMsMax: number): Promise<void> {
  const { rows } = await db.query<{ ms: number }>('select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms')
  const aheadMs = clock.now().getTime() - (rows[0]?.ms ?? NaN)
  if (Math.abs(aheadMs) <= skewMsMax) return
  const hours = Math.round(Math.abs(aheadMs) / 360_000) / 10
  throw new WrongClock(
    `this machine's clock is ${hours} hours ${aheadMs > 0 ? 'ahead of' : 'behind'} Postgres': set the wrong one of the two`,
  )
}
