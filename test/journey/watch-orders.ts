import type pg from 'pg'
import { until } from '../helpers/until.ts'

/** How far an order is. */
export interface Progress {
  readonly status: string
  /** Facts that were delivered, copies too. */
  readonly deliveries: number
  /** A command is still to be done, or held facts to be tried as the order was created. */
  readonly isBusy: boolean
  readonly isShipAsked: boolean
  readonly isShipped: boolean
}

const SQL = `
select o.out_trade_no as name, o.status::text,
  (select count(*)::int from deliveries d where d.order_id = o.id) as deliveries,
  exists (select from commands c where c.order_id = o.id and c.status = 'pending') as "isBusy",
  exists (select from events e where e.order_id = o.id and e.kind = 'ship') as "isShipAsked",
  exists (select from facts f where f.order_id = o.id and f.event_type = 'shipment_completed') as "isShipped"
from orders o`

/** Looks at all orders at once, for whoever waits for one of them. */
export function watchOrders(pool: pg.Pool) {
  type Found = ReadonlyMap<string, Progress>
  let [running, queued]: (Promise<Found> | undefined)[] = []
  const start = () => {
    running = pool
      .query<Progress & { name: string }>(SQL)
      .then(({ rows }) => new Map(rows.map(({ name, ...progress }) => [name, progress])))
      .finally(() => {
        running = undefined
      })
    return running
  }
  /** One that has begun already may not see what was just done: then the next one is shared. */
  const look = (): Promise<Found> => {
    if (running === undefined) return start()
    queued ??= running
      .catch(() => undefined)
      .then(() => {
        queued = undefined
        return start()
      })
    return queued
  }
  /** Waits until the order is so; an order that nobody has heard of is not. */
  const untilOrder = (name: string, what: string, holds: (progress: Progress) => boolean) =>
    until(
      `${name} ${what}`,
      async () => {
        const progress = (await look()).get(name)
        return progress !== undefined && holds(progress) && progress
      },
      45_000,
    )
  return { untilOrder }
}
