import type { Queryable } from '../runtime/postgres.ts'

const END_MS_MAX = 5_000

/**
 * Ends a lane's connections of earlier incarnations, also one that is stuck in a transaction because its process is
 * frozen with an unread answer: it would keep its locks for ever. Waits until they are gone, so that what they had sent
 * is decided before the lane's row is read.
 * @param prefix of `application_name`; what follows it is the incarnation's number
 * @param below only smaller numbers are ended; by default every number that was ever given
 */
export async function endOlderBackends(
  db: Queryable,
  prefix: string,
  topic: string,
  lane: number,
  below?: number,
): Promise<number> {
  // CASE, as the conditions of an AND may be evaluated in any order, and the cast must not meet another name.
  const { rows } = await db.query<{ ended: boolean }>(
    `select pg_terminate_backend(pid, ${END_MS_MAX}) as ended from pg_stat_activity
     where datname = current_database() and usename = current_user and pid <> pg_backend_pid()
       and starts_with(application_name, $1)
       and case when substr(application_name, length($1) + 1) ~ '^[0-9]{1,15}$'
         then substr(application_name, length($1) + 1)::bigint
           < coalesce($4::bigint, 1 + (select fences from lanes where topic = $2 and lane = $3))
         else false end`,
    [prefix, topic, lane, below ?? null],
  )
  return rows.filter(({ ended }) => ended).length
}
