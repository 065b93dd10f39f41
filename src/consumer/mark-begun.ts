import type { OpenRow } from './open-row.ts'
import type { Parts } from './parts.ts'

type Marking = Pick<Parts, 'pool' | 'owner' | 'run' | 'retries'>

/** A mark that is younger may be of somebody who is about to lock the row. */
const YOUNG_MS = 2_000

/**
 * Writes that this run begins with the row, before it begins: the mark outlives the process. One that another has left
 * behind counts, if the row was all that it had in work.
 * @returns how many processes ended while they had nothing but this in work; undefined: somebody else has it
 */
export async function markBegun(
  { pool, owner, run, retries }: Marking,
  row: OpenRow,
  isAlone: boolean,
): Promise<number | undefined> {
  const { rows } = await pool.query<{ kills: number }>({
    name: 'paidonce-mark-begun',
    text: `with held as (
             select consumer, event_id,
               kills + case when begun_by <> $5 and begun_alone then 1 else 0 end as kills
             from paidonce_consumer.inbox
             where consumer = $1 and event_id = $2 and state = $3 and fence = $4
               and (begun_by is null or begun_by = $5 or begun_at < clock_timestamp() - $8 * interval '1 millisecond')
             for update skip locked)
           update paidonce_consumer.inbox i
           set kills = held.kills, begun_by = case when held.kills < $7 then $5 end, begun_alone = $6,
             begun_at = clock_timestamp()
           from held where i.consumer = held.consumer and i.event_id = held.event_id
           returning i.kills`,
    values: [owner.consumer, row.eventId, row.state, row.fence.toString(), run, isAlone, retries.killsMax, YOUNG_MS],
  })
  return rows[0]?.kills
}

/** The run still lives: the row did not end it. What was counted stays, as it may do so the next time. */
export async function clearMark({ pool, owner, run }: Marking, { eventId }: OpenRow): Promise<void> {
  await pool.query({
    name: 'paidonce-clear-mark',
    text: `update paidonce_consumer.inbox set begun_by = null
           where consumer = $1 and event_id = $2 and begun_by = $3 and settled_at is null`,
    values: [owner.consumer, eventId, run],
  })
}
