import type pg from 'pg'
import type { Queryable } from '../runtime/postgres.ts'
import { isKnownId } from '../schemas/topic-id.ts'

export interface Place {
  readonly consumer: string
  /** With the installation's prefix. */
  readonly topic: string
  readonly lane: number
}

/**
 * Where a lane is read on. The position lies beside the effects, so that a restored backup takes both back together;
 * the group's offset in Kafka follows it. A position without a topic's id, as a person has set it, gets this one's.
 * @param fresh the position of a lane that nobody has read: where the log begins
 */
export async function readPosition(
  pool: pg.Pool,
  { consumer, topic, lane }: Place,
  fresh: { readonly start: number; readonly topicId: string | undefined },
): Promise<{ readonly next: number; readonly topicId: string | null }> {
  await pool.query(
    `insert into paidonce_consumer.positions as known (consumer, topic, lane, next_offset, topic_id)
     values ($1, $2, $3, $4, $5)
     on conflict (consumer, topic, lane) do update set topic_id = excluded.topic_id
       where known.topic_id is null or known.topic_id = ''`,
    [consumer, topic, lane, fresh.start, isKnownId(fresh.topicId) ? fresh.topicId : null],
  )
  const { rows } = await pool.query<{ next_offset: string; topic_id: string | null }>(
    'select next_offset, topic_id from paidonce_consumer.positions where consumer = $1 and topic = $2 and lane = $3',
    [consumer, topic, lane],
  )
  return { next: Number(rows[0]?.next_offset ?? fresh.start), topicId: rows[0]?.topic_id ?? null }
}

/** Locks the lane's position: of two consumers that read one partition for a moment the second waits here. */
export async function lockPosition(tx: Queryable, { consumer, topic, lane }: Place): Promise<number | undefined> {
  const { rows } = await tx.query<{ next_offset: string }>({
    name: 'paidonce-lock-position',
    text: `select next_offset from paidonce_consumer.positions
           where consumer = $1 and topic = $2 and lane = $3 for no key update`,
    values: [consumer, topic, lane],
  })
  return rows[0] === undefined ? undefined : Number(rows[0].next_offset)
}

export async function movePosition(tx: Queryable, { consumer, topic, lane }: Place, next: number): Promise<void> {
  await tx.query({
    name: 'paidonce-move-position',
    text: `update paidonce_consumer.positions set next_offset = $4
           where consumer = $1 and topic = $2 and lane = $3`,
    values: [consumer, topic, lane, next],
  })
}
