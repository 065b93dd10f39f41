import type pg from 'pg'
import { refundedOf } from '../../src/simulator/refunded-of.ts'
import type { End } from '../../src/simulator/life-state.ts'
import type { AmountKind } from '../../src/orders/model.ts'
import type { SeenEvent } from './check-exactly-once.ts'

interface Row {
  readonly merchant: string
  readonly out_trade_no: string
  readonly status: End['status']
  readonly accepted_ref: string | null
  readonly anomalies: readonly string[]
  readonly refunds: readonly {
    readonly amountMinor: number
    readonly amountKind: AmountKind
    readonly eventTimeMs: number
  }[]
}

const SQL = `
  select merchant, out_trade_no, status, accepted_ref,
    coalesce((select json_agg(a.kind order by a.kind) from anomalies a where a.order_id = o.id and resolved_at is null), '[]')
      as anomalies,
    coalesce((select json_agg(json_build_object('amountMinor', amount_minor, 'amountKind', amount_kind,
        'eventTimeMs', round(extract(epoch from event_time) * 1000)))
      from facts f where f.order_id = o.id and f.event_type = 'refund_succeeded' and f.payment_ref = o.accepted_ref
        and f.outcome <> 'held'), '[]') as refunds
  from orders o`

/** What each order has come to, by `merchant/out_trade_no`: but for its events, which are in Kafka. */
export async function endsIn(pool: pg.Pool): Promise<Map<string, Omit<End, 'events'>>> {
  const { rows } = await pool.query<Row>(SQL)
  return new Map(
    rows.map(({ merchant, out_trade_no: outTradeNo, status, accepted_ref: paymentRef, anomalies, refunds }) => [
      `${merchant}/${outTradeNo}`,
      { status, paymentRef, refundedMinor: refundedOf(refunds), openAnomalies: anomalies },
    ]),
  )
}

/** How often workers hear of each kind of event, by order. */
export function eventsByOrder(seen: readonly SeenEvent[]): Map<string, Record<string, number>> {
  const all = new Map<string, Record<string, number>>()
  for (const { merchant, key, kind } of seen) {
    const name = `${merchant}/${key}`
    const counts = all.get(name) ?? {}
    all.set(name, { ...counts, [kind]: (counts[kind] ?? 0) + 1 })
  }
  return all
}
