import type { Queryable } from '../runtime/postgres.ts'
import type { AmountKind, FactKind, FactOutcome, Status } from '../orders/model.ts'
import { texts } from './bind.ts'
import { fingerprintsIn } from './fingerprint.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

/** A fact as matching needs it. */
export interface KnownFact {
  readonly eventType: FactKind
  readonly providerRef: string
  readonly paymentRef: string | null
  readonly amountMinor: number
  readonly currency: string
  readonly amountKind: AmountKind
  readonly eventTimeMs: number
  readonly outcome: FactOutcome
}

/** What is known here of an order. */
export interface KnownOrder {
  readonly status: Status
  /** `dropped`: it was archived, and its month is gone; only the facts' fingerprints are left. */
  readonly place: 'orders' | 'archive' | 'dropped'
  readonly facts: readonly KnownFact[]
  readonly fingerprints: ReadonlySet<string>
}

const MONEY = `('payment_succeeded', 'refund_succeeded', 'refund_failed')`
const FACT = `jsonb_build_array(f.event_type, f.provider_ref, f.payment_ref, f.amount_minor, f.currency, f.amount_kind,
  ${ms('f.event_time')}, f.outcome)`
// One statement, so that an order that is archived meanwhile is in one place or the other.
const KNOWN = {
  name: 'bill-known',
  text: `
select k.out_trade_no, o.status::text, t.status::text, a.order_id is not null, encode(t.facts, 'hex'),
  case when o.id is not null then (select jsonb_agg(${FACT}) from facts f where f.order_id = o.id and f.event_type in ${MONEY})
    else (select jsonb_agg(${FACT}) from jsonb_populate_recordset(null::facts, a.document -> 'facts') f
      where f.event_type in ${MONEY}) end
from unnest($2::text[]) k (out_trade_no)
left join orders o on o.merchant = $1 and o.out_trade_no = k.out_trade_no
left join tombstones t on o.id is null and t.merchant = $1 and t.out_trade_no = k.out_trade_no
left join archived_orders a on a.month = t.month and a.order_id = t.order_id
where o.id is not null or t.merchant is not null`,
}
type FactRow = [FactKind, string, string | null, number, string, AmountKind, number, FactOutcome]
type Row = [
  ...[outTradeNo: string, status: Status | null, archivedStatus: Status | null, isInArchive: boolean],
  ...[fingerprints: string | null, facts: FactRow[] | null],
]

/** What is known of these orders, the archived ones too. */
export async function readKnownOrders(
  db: Queryable,
  merchant: string,
  outTradeNos: readonly string[],
): Promise<ReadonlyMap<string, KnownOrder>> {
  const rows = await rowsOf<Row>(db, KNOWN, [merchant, texts(outTradeNos)])
  return new Map(
    rows.map(([outTradeNo, living, archived, isInArchive, fingerprints, facts]) => [
      outTradeNo,
      {
        status: living ?? archived ?? 'awaited',
        place: living !== null ? 'orders' : isInArchive ? 'archive' : 'dropped',
        facts: (facts ?? []).map(factOf),
        fingerprints: fingerprintsIn(fingerprints ?? ''),
      } satisfies KnownOrder,
    ]),
  )
}

const factOf = (row: FactRow): KnownFact => ({
  ...{ eventType: row[0], providerRef: row[1], paymentRef: row[2], amountMinor: int(row[3]), currency: row[4] },
  ...{ amountKind: row[5], eventTimeMs: intOrNull(row[6]) ?? 0, outcome: row[7] },
})
