import type pg from 'pg'
import { transaction, type Queryable } from '../runtime/postgres.ts'
import type { Fulfillment } from '../schemas/fulfillment.ts'
import type { Reach } from './crash-points.ts'
import { lockPosition, movePosition, type Place } from './positions.ts'

export type TakenRecord = { readonly offset: number } & (
  | {
      readonly kind: 'event'
      readonly event: Fulfillment
      /** It was known here once, and may have been called for: it is asked about first. */
      readonly askFirst?: boolean
    }
  | { readonly kind: 'undecodable'; readonly detail: string; readonly value: Buffer | null }
)
export interface TakenBatch {
  readonly fetchedOffset: number
  readonly endOffset: number
  readonly records: readonly TakenRecord[]
}

export type TakenIn =
  | { readonly kind: 'taken'; readonly next: number; readonly fresh: number; readonly duplicates: number }
  /** Postgres is behind what was fetched (a restored backup): read again from here. No position: find it anew. */
  | { readonly kind: 'behind'; readonly next: number | undefined }

/**
 * Makes a row of every event that has none and moves the position, in one transaction. Whatever is below the position
 * is in the inbox; nothing is done yet, so a crash anywhere later loses nothing.
 */
export const takeIn = (pool: pg.Pool, place: Place, batch: TakenBatch, reach: Reach): Promise<TakenIn> =>
  transaction(
    pool,
    async (tx): Promise<TakenIn> => {
      const next = await lockPosition(tx, place)
      if (next === undefined || next < batch.fetchedOffset) return { kind: 'behind', next }
      // Below it they are known, though perhaps no longer in the inbox.
      const records = batch.records.filter(({ offset }) => offset >= next)
      const events = records.filter((record) => record.kind === 'event')
      const fresh = events.length === 0 ? 0 : await insertEvents(tx, place, events)
      for (const record of records) if (record.kind === 'undecodable') await insertUndecodable(tx, place, record)
      const end = Math.max(next, batch.endOffset)
      if (end > next) await movePosition(tx, place, end)
      return {
        kind: 'taken',
        next: end,
        fresh,
        duplicates: batch.records.length - records.length + events.length - fresh,
      }
    },
    (step) => (step === 'before_begin' ? undefined : reach(`take_in_${step}`)),
  )

async function insertEvents(
  tx: Queryable,
  { consumer, lane }: Place,
  events: readonly (TakenRecord & { readonly kind: 'event' })[],
): Promise<number> {
  const { rowCount } = await tx.query({
    name: 'paidonce-take-in',
    text: `insert into paidonce_consumer.inbox
             (consumer, lane, event_id, order_key, record_offset, event, state, fence, called_at)
           select $1, $2, event_id, order_key, record_offset, event, case when ask then 'asking' else 'waiting' end,
             case when ask then nextval('paidonce_consumer.fence') else 0 end,
             case when ask then clock_timestamp() end
           from unnest($3::text[], $4::text[], $5::bigint[], $6::text[], $7::bool[]) with ordinality
             as taken(event_id, order_key, record_offset, event, ask, place)
           order by place
           on conflict do nothing`,
    values: [
      consumer,
      lane,
      events.map(({ event }) => event.eventId),
      events.map(({ event }) => orderKey(event)),
      events.map(({ offset }) => offset),
      events.map(({ event }) => JSON.stringify(event)),
      events.map(({ askFirst }) => askFirst === true),
    ],
  })
  return rowCount ?? 0
}

export const orderKey = ({ merchant, outTradeNo }: Pick<Fulfillment, 'merchant' | 'outTradeNo'>) =>
  `${merchant}/${outTradeNo}`

async function insertUndecodable(
  tx: Queryable,
  { consumer, topic, lane }: Place,
  { offset, detail, value }: TakenRecord & { readonly kind: 'undecodable' },
): Promise<void> {
  await tx.query(
    `insert into paidonce_consumer.dead_letters (consumer, topic, lane, record_offset, kind, reason, value)
     values ($1, $2, $3, $4, 'undecodable', $5, $6)
     on conflict (consumer, topic, lane, record_offset) do update set event_id = null, order_key = null,
       kind = excluded.kind, reason = excluded.reason, value = excluded.value`,
    [consumer, topic, lane, offset, detail, value],
  )
}
