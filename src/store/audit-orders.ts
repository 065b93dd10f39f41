import type { AmountKind, ClosedBy, FactKind, FactOutcome, Status } from '../orders/model.ts'
import type { Transaction } from '../runtime/postgres.ts'
import { int8s } from './bind.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

const PAGE_ROWS = 1_000
const ORDERS = {
  name: 'audit-orders',
  text: `select id, lane, merchant, out_trade_no, status::text, amount_minor, currency, accepted_ref, closed_by,
      ${ms('closed_at')}, sequence, ${ms('created_at')}
    from orders where id > ($1::int8[])[1] and updated_at >= $2 and created_at < $3 order by id limit ${PAGE_ROWS}`,
}
type OrderRow = [
  ...[id: unknown, lane: number, merchant: string, outTradeNo: string, status: Status, amountMinor: unknown],
  ...[currency: string | null, acceptedRef: string | null, closedBy: ClosedBy | null, closedAtMs: unknown],
  ...[sequence: number, createdAtMs: unknown],
]
const FACTS = {
  name: 'audit-facts',
  text: `select order_id, event_type::text, provider_ref, payment_ref, amount_minor, currency, amount_kind::text,
      ${ms('event_time')}, outcome::text, ${ms('recorded_at')}
    from facts where order_id = any($1::int8[]) order by order_id, event_type, provider_ref`,
}
type FactRow = [
  ...[orderId: unknown, eventType: FactKind, providerRef: string, paymentRef: string | null, amountMinor: unknown],
  ...[currency: string, amountKind: AmountKind, eventTimeMs: unknown, outcome: FactOutcome, recordedAtMs: unknown],
]
const ANOMALIES = {
  name: 'audit-anomalies',
  text: `select order_id, kind, cause, resolution, ${ms('opened_at')}, ${ms('resolved_at')}
    from anomalies where order_id = any($1::int8[]) order by order_id, kind, cause`,
}
type AnomalyRow = [
  ...[orderId: unknown, kind: string, cause: string, resolution: string | null],
  ...[openedAtMs: unknown, resolvedAtMs: unknown],
]
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

const orderOf = (row: OrderRow) => ({
  ...{ id: int(row[0]), lane: row[1], merchant: row[2], outTradeNo: row[3], status: row[4] },
  ...{ amountMinor: intOrNull(row[5]), currency: row[6], acceptedRef: row[7], closedBy: row[8] },
  ...{ closedAtMs: intOrNull(row[9]), sequence: row[10], createdAtMs: int(row[11]) },
})
const factOf = (row: FactRow) => ({
  ...{ eventType: row[1], providerRef: row[2], paymentRef: row[3], amountMinor: int(row[4]), currency: row[5] },
  ...{ amountKind: row[6], eventTimeMs: int(row[7]), outcome: row[8], recordedAtMs: int(row[9]) },
})
const anomalyOf = (row: AnomalyRow) => ({
  ...{ kind: row[1], cause: row[2], resolution: row[3], openedAtMs: int(row[4]), resolvedAtMs: intOrNull(row[5]) },
})
const eventOf = (row: EventRow) => ({
  ...{ laneSeq: intOrNull(row[1]), topic: row[2], eventId: row[3], kind: row[4], cause: row[5] },
  ...{ sequence: row[6], amountMinor: intOrNull(row[7]), currency: row[8], paymentRef: row[9] },
})

/**
 * The next orders that changed in a window, with all that belongs to them, as they stood at one moment.
 * @param tx REPEATABLE READ, as a lane may be writing
 */
export async function readAuditOrders(
  tx: Transaction,
  { afterId, sinceMs, untilMs }: { readonly afterId: number; readonly sinceMs: number; readonly untilMs: number },
) {
  const window = [new Date(sinceMs), new Date(untilMs)]
  const orders = (await rowsOf<OrderRow>(tx, ORDERS, [int8s([afterId]), ...window])).map(orderOf)
  const ids = int8s(orders.map(({ id }) => id))
  const oldestMs = orders.reduce((oldest, { createdAtMs }) => Math.min(oldest, createdAtMs), untilMs)
  const facts = byOrder(await rowsOf<FactRow>(tx, FACTS, [ids]), factOf)
  const anomalies = byOrder(await rowsOf<AnomalyRow>(tx, ANOMALIES, [ids]), anomalyOf)
  const events = byOrder(await rowsOf<EventRow>(tx, EVENTS, [ids, new Date(oldestMs)]), eventOf)
  return orders.map((order) => ({
    ...order,
    facts: facts.get(order.id) ?? [],
    anomalies: anomalies.get(order.id) ?? [],
    events: events.get(order.id) ?? [],
  }))
}

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
