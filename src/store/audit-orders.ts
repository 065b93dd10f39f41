import type { Transaction } from '../runtime/postgres.ts'
import { readArchivedAnomalies, readArchivedFacts, readArchivedOrders } from './audit-archived.ts'
import {
  ANOMALIES_SORTED,
  anomalyOf,
  AUDIT_ANOMALY,
  AUDIT_FACT,
  AUDIT_ORDER,
  FACTS_SORTED,
  factOf,
  orderOf,
  PAGE_ROWS,
  type AnomalyRow,
  type FactRow,
  type OrderRow,
} from './audit-rows.ts'
import { int8s } from './bind.ts'
import { int, intOrNull, rowsOf } from './statement.ts'

const ORDERS = {
  name: 'audit-orders',
  text: `select ${AUDIT_ORDER} from orders o where o.id > ($1::int8[])[1] and o.updated_at >= $2 and o.created_at < $3
    order by o.id limit ${PAGE_ROWS}`,
}
const FACTS = {
  name: 'audit-facts',
  text: `select ${AUDIT_FACT} from facts f where f.order_id = any($1::int8[]) ${FACTS_SORTED}`,
}
const ANOMALIES = {
  name: 'audit-anomalies',
  text: `select ${AUDIT_ANOMALY} from anomalies a where a.order_id = any($1::int8[]) ${ANOMALIES_SORTED}`,
}
const SAID = 'topic, event_id, kind, cause, sequence, amount_minor, currency, payment_ref'
// An event is not older than its order, which says which days' partitions there is nothing to look for in.
const EVENTS = {
  name: 'audit-order-events',
  text: `select order_id, lane_seq, ${SAID} from events where order_id = any($1::int8[]) and day >= $2::timestamptz::date - 1
    union all select order_id, null, ${SAID} from waiting_events where order_id = any($1::int8[])
    order by 1, 2, 4`,
}
type EventRow = [
  ...[orderId: unknown, laneSeq: unknown, topic: string, eventId: string, kind: string, cause: string],
  ...[sequence: number | null, amountMinor: unknown, currency: string | null, paymentRef: string | null],
]
const eventOf = (row: EventRow) => ({
  ...{ laneSeq: intOrNull(row[1]), topic: row[2], eventId: row[3], kind: row[4], cause: row[5] },
  ...{ sequence: row[6], amountMinor: intOrNull(row[7]), currency: row[8], paymentRef: row[9] },
})

/**
 * The next orders that changed in a window, archived ones too, with all that belongs to them, as they stood at one
 * moment; in the order of their ids, so that one that is archived meanwhile is judged once.
 * @param tx REPEATABLE READ, as a lane may be writing
 */
export async function readAuditOrders(
  tx: Transaction,
  { afterId, sinceMs, untilMs }: { readonly afterId: number; readonly sinceMs: number; readonly untilMs: number },
) {
  const window = [new Date(sinceMs), new Date(untilMs)]
  const living = (await rowsOf<OrderRow>(tx, ORDERS, [int8s([afterId]), ...window])).map(orderOf)
  const range = { afterId, upToId: endOf(living), sinceMs, untilMs }
  const archived = (await readArchivedOrders(tx, range)).map(orderOf)
  const end = endOf(archived)
  const orders = [...living.filter(({ id }) => id <= end), ...archived].sort((a, b) => a.id - b.id)
  const ids = int8s(orders.map(({ id }) => id))
  const archivedIds = archived.map(({ id }) => id)
  const oldestMs = orders.reduce((oldest, { createdAtMs }) => Math.min(oldest, createdAtMs), untilMs)
  const facts = byOrder(
    [...(await rowsOf<FactRow>(tx, FACTS, [ids])), ...(await readArchivedFacts(tx, archivedIds, sinceMs))],
    factOf,
  )
  const anomalies = byOrder(
    [...(await rowsOf<AnomalyRow>(tx, ANOMALIES, [ids])), ...(await readArchivedAnomalies(tx, archivedIds, sinceMs))],
    anomalyOf,
  )
  const events = byOrder(await rowsOf<EventRow>(tx, EVENTS, [ids, new Date(oldestMs)]), eventOf)
  return orders.map((order) => ({
    ...order,
    facts: facts.get(order.id) ?? [],
    anomalies: anomalies.get(order.id) ?? [],
    events: events.get(order.id) ?? [],
  }))
}

/** The id up to which a page has all there are. */
const endOf = (page: readonly { readonly id: number }[]) =>
  page.length < PAGE_ROWS ? Number.MAX_SAFE_INTEGER : (page.at(-1)?.id ?? Number.MAX_SAFE_INTEGER)

function byOrder<Row extends [orderId: unknown, ...unknown[]], T>(rows: readonly Row[], of: (row: Row) => T) {
  const found = new Map<number, T[]>()
  for (const row of rows) {
    const id = int(row[0])
    const some = found.get(id)
    if (some === undefined) found.set(id, [of(row)])
    else some.push(of(row))
  }
  return found
}
