import type pg from 'pg'
import { transaction } from '../runtime/postgres.ts'

/** Any number that nothing else locks. */
const LOCK = 5_180_264_418
/** Fences that others may take between the look at the sequence and its change, which must not set it back. */
const MEANWHILE = 1_000

/**
 * Above all that third parties may have seen: the sequence was set back with the rest. It only ever rises, also where
 * several lanes raise it and others take fences meanwhile. One that is near the clock was raised a moment ago.
 */
export const raiseFences = (pool: pg.Pool): Promise<void> =>
  transaction(pool, async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [LOCK])
    await tx.query(
      `select setval('paidonce_consumer.fence', now_ms)
       from (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms) as clock
       where nextval('paidonce_consumer.fence') + $1 < now_ms`,
      [MEANWHILE],
    )
  })
