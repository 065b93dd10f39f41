import type { FactKind } from '../orders/model.ts'
import type { Queryable } from '../runtime/postgres.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

/** A fact that waits, and for what. */
export interface HeldFact {
  readonly merchant: string
  readonly outTradeNo: string
  readonly lane: number
  readonly eventType: FactKind
  readonly providerRef: string
  /** The transaction that it acts on; null: it is a payment itself, or names none. */
  readonly paymentRef: string | null
  readonly amountMinor: number
  readonly currency: string
  /** `order`: nobody has created it. `payment`: of the order that there is. */
  readonly waitsFor: 'order' | 'payment'
  readonly eventTimeMs: number
  readonly heldSinceMs: number
  /** When it becomes an anomaly; null: it just did, or is being applied. */
  readonly limitAtMs: number | null
  /** Its place in the listing, to go on after. */
  readonly place: HeldPlace
}

/** Held since, in microseconds since 1970: a lane holds many facts in one transaction. Then the fact's own key. */
export type HeldPlace = readonly [sinceUs: number, orderId: number, eventType: FactKind, providerRef: string]

export interface HeldFilter {
  readonly merchant?: string | undefined
  /** When they began to wait: from, inclusive, until, exclusive. */
  readonly sinceMs?: number | undefined
  readonly untilMs?: number | undefined
  readonly after?: HeldPlace | undefined
}

const LIST = {
  name: 'list-held',
  text: `select o.merchant, o.out_trade_no, o.lane, f.event_type::text, f.provider_ref, f.payment_ref, f.amount_minor,
    f.currency, o.status = 'awaited', ${ms('f.event_time')}, ${ms('f.recorded_at')}, ${ms('t.due_at')},
    (extract(epoch from f.recorded_at) * 1000000)::int8, f.order_id
  from facts f join orders o on o.id = f.order_id
  left join timers t on t.order_id = f.order_id and t.kind = 'held_limit'
    and t.ref = f.event_type::text || '/' || f.provider_ref
  where f.outcome = 'held' and ($1::text is null or o.merchant = $1)
    and ($2::float8 is null or f.recorded_at >= to_timestamp($2 / 1000))
    and ($3::float8 is null or f.recorded_at < to_timestamp($3 / 1000))
    and ($5::int8 is null or (f.recorded_at, f.order_id, f.event_type, f.provider_ref) >
      ('epoch'::timestamptz + $5 * interval '1 microsecond', $6::int8, $7::fact_kind, $8::text))
  order by f.recorded_at, f.order_id, f.event_type, f.provider_ref limit $4`,
}
type Row = [
  ...[merchant: string, outTradeNo: string, lane: number, eventType: FactKind, providerRef: string],
  ...[paymentRef: string | null, amountMinor: unknown, currency: string, isAwaited: boolean],
  ...[eventTime: unknown, since: unknown, limit: unknown, sinceUs: unknown, orderId: unknown],
]

/** What waits, the longest first. */
export async function listHeld(db: Queryable, filter: HeldFilter, rowsMax: number): Promise<HeldFact[]> {
  const after = filter.after ?? [null, null, null, null]
  const values = [filter.merchant ?? null, filter.sinceMs ?? null, filter.untilMs ?? null, rowsMax, ...after]
  return (await rowsOf<Row>(db, LIST, values)).map((row) => ({
    ...{ merchant: row[0], outTradeNo: row[1], lane: row[2], eventType: row[3], providerRef: row[4] },
    ...{ paymentRef: row[5], amountMinor: int(row[6]), currency: row[7] },
    waitsFor: row[8] ? ('order' as const) : ('payment' as const),
    ...{ eventTimeMs: int(row[9]), heldSinceMs: int(row[10]), limitAtMs: intOrNull(row[11]) },
    place: [int(row[12]), int(row[13]), row[3], row[4]] as const,
  }))
}
