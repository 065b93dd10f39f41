import type pg from 'pg'
import type { Order, StoredFact } from '../../src/orders/model.ts'
import { sayAnomaly, sayEvent, sayFact, sayNotice, type End } from './ends.ts'
import type { Heard } from './read-topics.ts'

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`
const us = (column: string) => `(extract(epoch from ${column}) * 1000000)::float8`
const all = (columns: string, from: string, order = '') =>
  `coalesce((select json_agg(json_build_object(${columns}) ${order}) from ${from} = o.id), '[]')`

const SQL = `
select json_build_object('merchant', merchant, 'outTradeNo', out_trade_no, 'status', status, 'amountMinor', amount_minor,
    'currency', currency, 'groupKey', group_key, 'acceptedRef', accepted_ref, 'paidAtMs', ${ms('paid_at')},
    'closedBy', closed_by, 'expiresAtMs', ${ms('expires_at')}, 'heldCount', held_count, 'sequence', sequence) as "order",
  ${all(
    `'cause', event_type || '/' || provider_ref, 'outcome', outcome, 'offset', kafka_offset, 'lane', lane`,
    'deliveries d where d.order_id',
    'order by kafka_offset',
  )} as deliveries,
  ${all(
    `'eventType', event_type, 'providerRef', provider_ref, 'paymentRef', payment_ref, 'amountMinor', amount_minor,
     'currency', currency, 'amountKind', amount_kind, 'eventTimeMs', ${ms('event_time')}, 'detail', detail,
     'outcome', outcome, 'atUs', ${us('recorded_at')}, 'offset', kafka_offset`,
    'facts f where f.order_id',
  )} as facts,
  ${all(`'kind', kind, 'cause', cause, 'resolution', resolution`, 'anomalies a where a.order_id')} as anomalies,
  ${all(`'kind', kind, 'ref', ref`, 'timers t where t.order_id')} as timers,
  ${all(`'cause', cause, 'atUs', ${us('created_at')}`, `events e where e.cause = 'expire' and e.order_id`)} as expired,
  ${all(`'result', result, 'atUs', ${us('finished_at')}`, `commands c where c.kind = 'close' and c.order_id`)} as closes
from orders o`

interface Row {
  readonly order: End['order']
  readonly deliveries: readonly { cause: string; outcome: string; offset: number; lane: number }[]
  readonly facts: readonly (StoredFact & { atUs: number; offset: number })[]
  readonly anomalies: readonly { kind: string; cause: string; resolution: string | null }[]
  readonly timers: readonly { kind: string; ref: string }[]
  readonly expired: readonly { atUs: number }[]
  readonly closes: readonly { result: { kind: string; status: Order['status'] } | null; atUs: number | null }[]
}

/** What an order has come to, and when the lane's transactions were that brought it there, in microseconds. */
export interface Seen {
  readonly end: End
  readonly factAtUs: ReadonlyMap<string, number>
  readonly expiredAtUs: number | undefined
  readonly closedAtUs: number | undefined
  readonly heard: readonly Heard[]
}

/** By out_trade_no. */
export async function readEnds(pool: pg.Pool, heard: readonly Heard[]): Promise<Map<string, Seen>> {
  const { rows } = await pool.query<Row>(SQL)
  const byOrder = Map.groupBy(heard, ({ outTradeNo }) => outTradeNo)
  return new Map(rows.map((row) => [row.order.outTradeNo, seenOf(row, byOrder.get(row.order.outTradeNo) ?? [])]))
}

function seenOf({ order, deliveries, facts, anomalies, timers, expired, closes }: Row, heard: readonly Heard[]): Seen {
  const [close] = closes
  const result = close?.result ?? undefined
  const events = heard.filter(({ sequence }) => sequence !== null)
  return {
    end: {
      order,
      deliveries: deliveries.map(({ cause, outcome }) => `${cause} ${outcome}`),
      facts: facts.map(sayFact).sort(),
      anomalies: anomalies.map(sayAnomaly).sort(),
      timers: timers.map(({ kind, ref }) => `${kind}:${ref}`).sort(),
      events: events.toSorted((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0)).map(sayEvent),
      notices: heard
        .filter(({ sequence }) => sequence === null)
        .map(sayNotice)
        .sort(),
      close: result === undefined ? undefined : `${result.kind} ${result.status}`,
    },
    factAtUs: new Map(facts.map(({ eventType, providerRef, atUs }) => [`${eventType}/${providerRef}`, atUs])),
    expiredAtUs: expired[0]?.atUs,
    closedAtUs: close?.atUs ?? undefined,
    heard,
  }
}
