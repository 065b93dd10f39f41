import type pg from 'pg'
import { transaction } from '../runtime/postgres.ts'
import type { Fulfillment } from '../schemas/fulfillment.ts'
import { lockPosition, type Place } from './positions.ts'

/**
 * After Postgres was set back a row that is still open may have been called for since, or called for again: it is asked
 * about, and an answer counts as for a call that began now. Waits for those who hold a row, a call's time at most;
 * whoever has written `calling` and does not hold it yet finds the fence changed, and does not begin.
 */
export const askAboutOpen = (pool: pg.Pool, place: Place, isOutside: (kind: string) => boolean): Promise<void> =>
  transaction(pool, async (tx) => {
    await lockPosition(tx, place)
    const { rows } = await tx.query<{ event_id: string; event: string }>(
      `select event_id, event from paidonce_consumer.inbox
       where consumer = $1 and lane = $2 and settled_at is null and state <> 'unsettled'`,
      [place.consumer, place.lane],
    )
    const outside = rows.filter(({ event }) => isOutside((JSON.parse(event) as Fulfillment).kind))
    if (outside.length === 0) return
    await tx.query(
      `update paidonce_consumer.inbox
       set state = 'asking', fence = nextval('paidonce_consumer.fence'), called_at = clock_timestamp(), asks = 0,
         due_at = clock_timestamp(), reason = 'Postgres was set back'
       where consumer = $1 and event_id = any ($2) and settled_at is null and state <> 'unsettled'`,
      [place.consumer, outside.map(({ event_id: eventId }) => eventId)],
    )
  })
