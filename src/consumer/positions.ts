import type pg from 'pg'
import type { Queryable } from '../runtime/postgres.ts'

export interface Place {
  readonly consumer: string
  /** With the installation's prefix. */
  readonly topic: string
  readonly lane: number
}

/**
 * Where a lane is read on. The position lies beside the effects, so that a restored backup takes both back together;
 * the group's offset in Kafka follows it and is only for tools that show the lag.
 * @param start where the log begins: the position of a lane that nobody has read
 */
export async function readPosition(pool: pg.Pool, { consumer, topic, lane }: Place, start: number): Promise<number> {
  await pool.query(
    `insert into paidonce_consumer.positions (consumer, topic, lane, next_offset) values ($1, $2, $3, $4)
     on conflict do nothing`,
    [consumer, topic, lane, start],
  )
  const { rows } = await pool.query<{ next_offset: string }>(
    'select next_offset from paidonce_consumer.positions where consumer = $1 and topic = $2 and lane = $3',
    [consumer, topic, lane],
  )
  return Number(rows[0]?.next_offset ?? start)
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
