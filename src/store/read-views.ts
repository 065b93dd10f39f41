import type { KnownAnomaly, OrderView } from '../orders/decision.ts'
import type { AmountKind, AnomalyKind, FactKind, FactOutcome, Group, StoredFact } from '../orders/model.ts'
import type { Transaction } from '../runtime/postgres.ts'
import { int8s, texts } from './bind.ts'
import { fingerprintsIn } from './fingerprint.ts'
import type { LockedOrder } from './lock-orders.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

export interface Views {
  /** By order id; archived orders are not among them. */
  readonly views: ReadonlyMap<number, OrderView>
  /** By the id of a stub: its order was archived long ago. Its facts are not applied, and the stub goes again. */
  readonly archived: ReadonlyMap<number, Tombstone>
}

/** What stays of an order that was archived. */
export interface Tombstone {
  /** The order's own, in the archive and in what is left of deliveries and events. */
  readonly orderId: number | null
  /** Fingerprints of its facts. */
  readonly facts: ReadonlySet<string>
  /** UTC: `2026-11-30`. */
  readonly archivedOn: string
}

type Row = [tag: 'f' | 'a' | 'g' | 't', id: unknown, a: string, b: string, ...rest: unknown[]]

// One statement, as each costs a round trip. Groups are locked here: after the orders, sorted, before the lane row; the
// lock reads the row's newest version. `= any` and not a join with unnest: that is planned the wrong way round on an
// empty table (60 instead of 40 µs a callback); `cardinality` keeps such a plan from walking the table for nothing.
const READ_VIEWS = {
  name: 'read-views',
  text: `
with locked_groups as materialized (
  select g.merchant, g.group_key, g.order_id from unnest($2::text[], $3::text[]) as i (merchant, group_key)
  join groups g on g.merchant = i.merchant and g.group_key = i.group_key
  where cardinality($2::text[]) > 0 order by g.merchant, g.group_key for no key update of g
)
select 'f', order_id, event_type::text, provider_ref, payment_ref, amount_minor, currency, amount_kind::text,
  ${ms('event_time')}, outcome::text, detail
from facts where order_id = any($1::int8[])
union all
select 'a', order_id, kind, cause, resolution, id, owner, resolved_by, null, null, null
from anomalies where order_id = any($1::int8[])
union all
select 'g', order_id, merchant, group_key, null, null, null, null, null, null, null from locked_groups
union all
select 't', i.id, encode(t.facts, 'hex'), (t.archived_at at time zone 'UTC')::date::text, null, t.order_id, null, null, null, null, null
from unnest($4::int8[], $5::text[], $6::text[]) as i (id, merchant, out_trade_no)
join tombstones t on t.merchant = i.merchant and t.out_trade_no = i.out_trade_no
where cardinality($4::int8[]) > 0`,
}

/**
 * Statement C: everything that the decision reads, by a statement issued after the orders' locks, so that it is the
 * truth: facts, anomalies, groups (locked), tombstones of stubs.
 */
export async function readViews(tx: Transaction, locked: readonly LockedOrder[]): Promise<Views> {
  const groupKeys = new Map<string, readonly [merchant: string, groupKey: string]>()
  for (const { order } of locked)
    if (order.groupKey !== null) groupKeys.set(`${order.merchant}\0${order.groupKey}`, [order.merchant, order.groupKey])
  const stubs = locked.filter(({ order }) => order.status === 'awaited')
  const rows = await rowsOf<Row>(tx, READ_VIEWS, [
    int8s(locked.map(({ order }) => order.id)),
    texts([...groupKeys.values()].map(([merchant]) => merchant)),
    texts([...groupKeys.values()].map(([, groupKey]) => groupKey)),
    int8s(stubs.map(({ order }) => order.id)),
    texts(stubs.map(({ order }) => order.merchant)),
    texts(stubs.map(({ order }) => order.outTradeNo)),
  ])
  const facts = new Map<number, StoredFact[]>()
  const anomalies = new Map<number, KnownAnomaly[]>()
  const groups = new Map<string, Group>()
  const archived = new Map<number, Tombstone>()
  for (const [tag, id, a, b, ...rest] of rows) {
    if (tag === 'f') push(facts, int(id), factOf(a, b, rest))
    else if (tag === 'a') push(anomalies, int(id), anomalyOf(a, b, rest))
    else if (tag === 'g') groups.set(`${a}\0${b}`, { merchant: a, groupKey: b, orderId: intOrNull(id) })
    else archived.set(int(id), { orderId: intOrNull(rest[1]), facts: fingerprintsIn(a), archivedOn: b })
  }
  const views = new Map<number, OrderView>()
  for (const { order } of locked) {
    if (archived.has(order.id)) continue
    views.set(order.id, {
      order,
      facts: facts.get(order.id) ?? [],
      anomalies: anomalies.get(order.id) ?? [],
      group: order.groupKey === null ? null : (groups.get(`${order.merchant}\0${order.groupKey}`) ?? null),
    })
  }
  return { views, archived }
}

const factOf = (eventType: string, providerRef: string, rest: unknown[]): StoredFact => ({
  eventType: eventType as FactKind,
  providerRef,
  paymentRef: rest[0] as string | null,
  amountMinor: int(rest[1]),
  currency: rest[2] as string,
  amountKind: rest[3] as AmountKind,
  eventTimeMs: int(rest[4]),
  outcome: rest[5] as FactOutcome,
  detail: rest[6] as string | null,
})

const anomalyOf = (kind: string, cause: string, rest: unknown[]): KnownAnomaly => ({
  id: int(rest[1]),
  kind: kind as AnomalyKind,
  cause,
  resolution: rest[0] as string | null,
  owner: rest[2] as string | null,
  resolvedBy: rest[3] as string | null,
})

function push<T>(map: Map<number, T[]>, key: number, value: T) {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
