import type pg from 'pg'
import type { Fulfillment } from '../schemas/fulfillment.ts'
import { transaction } from '../runtime/postgres.ts'
import type { Place } from './positions.ts'

export interface UnsettledEvent {
  readonly eventId: string
  readonly event: Fulfillment
  readonly reason: string
  readonly calledAt: Date
}
export interface DeadLetter {
  readonly lane: number
  readonly offset: number
  readonly eventId: string | null
  readonly kind: string
  readonly reason: string
  readonly at: Date
}

const ROWS_MAX = 1_000

/** What a person must say something to, the oldest first. */
export async function listUnsettled(pool: pg.Pool, consumer: string): Promise<UnsettledEvent[]> {
  const { rows } = await pool.query<{ event_id: string; event: string; reason: string; called_at: Date }>(
    `select event_id, event, reason, called_at from paidonce_consumer.inbox
     where consumer = $1 and settled_at is null and state = 'unsettled' order by seq limit $2`,
    [consumer, ROWS_MAX],
  )
  return rows.map(({ event_id: eventId, event, reason, called_at: calledAt }) => ({
    ...{ eventId, reason, calledAt },
    event: JSON.parse(event) as Fulfillment,
  }))
}

/**
 * A person has found that it happened. `settled` is not run: what it would write is the person's to write.
 * @returns false: the event is not unsettled
 */
export const sayHappened = async (pool: pg.Pool, consumer: string, eventId: string, reference: string) =>
  one(
    await pool.query(
      `update paidonce_consumer.inbox set state = 'done', settled_at = clock_timestamp(), event = null, reference = $3
       where consumer = $1 and event_id = $2 and state = 'unsettled'`,
      [consumer, eventId, reference],
    ),
  )

/** A person has found that it did not happen and cannot any more: it is called for again. @returns as `sayHappened` */
export const sayDidNotHappen = async (pool: pg.Pool, consumer: string, eventId: string) =>
  one(
    await pool.query(
      `update paidonce_consumer.inbox
       set state = 'waiting', due_at = clock_timestamp(), fence = nextval('paidonce_consumer.fence'),
         taken_at = clock_timestamp(), attempts = 0,
         begun_by = null, kills = 0
       where consumer = $1 and event_id = $2 and state = 'unsettled'`,
      [consumer, eventId],
    ),
  )

/** The oldest first. */
export async function listDeadLetters(pool: pg.Pool, consumer: string): Promise<DeadLetter[]> {
  const { rows } = await pool.query<{
    lane: number
    record_offset: string
    event_id: string | null
    kind: string
    reason: string
    at: Date
  }>(
    `select lane, record_offset, event_id, kind, reason, at from paidonce_consumer.dead_letters
     where consumer = $1 order by at limit $2`,
    [consumer, ROWS_MAX],
  )
  return rows.map(({ record_offset: offset, event_id: eventId, ...row }) => ({
    ...row,
    eventId,
    offset: Number(offset),
  }))
}

/**
 * Tries a dead letter again, now that its cause is gone. Later events of its order may have been done meanwhile.
 * @returns false: there is none with this event id
 */
export const reviveDeadLetter = (pool: pg.Pool, consumer: string, eventId: string): Promise<boolean> =>
  transaction(pool, async (tx) => {
    const revived = one(
      await tx.query(
        `update paidonce_consumer.inbox
         set state = 'waiting', settled_at = null, due_at = clock_timestamp(), taken_at = clock_timestamp(), attempts = 0,
           begun_by = null, kills = 0
         where consumer = $1 and event_id = $2 and state = 'dead'`,
        [consumer, eventId],
      ),
    )
    if (revived)
      await tx.query('delete from paidonce_consumer.dead_letters where consumer = $1 and event_id = $2', [
        consumer,
        eventId,
      ])
    return revived
  })

/**
 * Where a lane is read on, for one that has stopped: it goes on by itself within 10 s. What is in the inbox is not done
 * again, also when it is read again.
 * @param topic with the installation's prefix
 */
export async function setPosition(pool: pg.Pool, { consumer, topic, lane }: Place, nextOffset: number): Promise<void> {
  await pool.query(
    `insert into paidonce_consumer.positions (consumer, topic, lane, next_offset) values ($1, $2, $3, $4)
     on conflict (consumer, topic, lane) do update set next_offset = excluded.next_offset, topic_id = null`,
    [consumer, topic, lane, nextOffset],
  )
}

const one = ({ rowCount }: { readonly rowCount: number | null }) => rowCount === 1
