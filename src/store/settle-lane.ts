import type { Queryable } from '../runtime/postgres.ts'
import type { Guard } from './write-batch.ts'

/**
 * Says in the row of a lane that is still that all its events are in Kafka. A lane that works says so with each batch;
 * one that does not would keep the days of its last events, and their orders, for ever.
 * @param guard its `ledger` is confirmed by Kafka
 */
export async function settleLane(db: Queryable, { topic, lane, ledger }: Guard): Promise<void> {
  await db.query(
    `update lanes set settled_seq = $3, updated_at = now()
     where topic = $1 and lane = $2 and settled_seq < $3 and next_seq >= $3 and halted_reason is null`,
    [topic, lane, ledger],
  )
}
