import { inbox, refused, skip, type Effect } from '../../src/consumer/consumer.ts'

export const TABLES = `
create table if not exists points_ledger (
  event_id text primary key, order_key text not null, points bigint not null)`

const MINOR_PER_POINT = 100

/** A member's points: one for each whole unit of the currency. */
export const pointsEffects: Readonly<Record<string, Effect>> = {
  grant: inbox(async (tx, { eventId, merchant, outTradeNo, amountMinor }) => {
    if (amountMinor === null) return refused('the event has no amount')
    const points = Math.floor(amountMinor / MINOR_PER_POINT)
    await tx.query('insert into points_ledger values ($1, $2, $3)', [eventId, `${merchant}/${outTradeNo}`, points])
    return undefined
  }),
  /** All that the order has brought. */
  revoke: inbox(async (tx, { eventId, merchant, outTradeNo }) => {
    await tx.query(
      `insert into points_ledger
       select $1, $2, -coalesce(sum(points), 0) from points_ledger where order_key = $2`,
      [eventId, `${merchant}/${outTradeNo}`],
    )
  }),
  refund: skip,
}
