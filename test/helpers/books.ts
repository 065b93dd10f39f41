import type pg from 'pg'
import type { FactKind, FactOutcome, Status } from '../../src/orders/model.ts'

/** A fact as it lies in the books, of an order that is made with it. */
export interface BookedFact {
  readonly order: string
  readonly ref: string
  readonly atMs: number
  readonly merchant?: string
  readonly status?: Status
  readonly kind?: FactKind
  readonly paymentRef?: string
  readonly minor?: number
  readonly currency?: string
  readonly cumulative?: boolean
  readonly outcome?: FactOutcome
}

/** Writes orders and facts as lanes leave them, without any lane. */
export async function keepBooks(pool: pg.Pool, facts: readonly BookedFact[]): Promise<void> {
  const of = <T>(pick: (fact: BookedFact) => T) => facts.map(pick)
  await pool.query(
    `insert into orders (merchant, out_trade_no, lane, status, amount_minor, currency)
     select distinct on (m, n) m, n, 0, s::order_status, 100, 'CNY' from unnest($1::text[], $2::text[], $3::text[]) as o (m, n, s)
     on conflict do nothing`,
    [of(({ merchant = 'shop' }) => merchant), of(({ order }) => order), of(({ status = 'paid' }) => status)],
  )
  await pool.query(
    `insert into facts (order_id, event_type, provider_ref, payment_ref, amount_minor, currency, amount_kind, event_time, outcome, lane, kafka_offset)
     select o.id, f.kind::fact_kind, f.ref, f.payment_ref, f.minor, f.currency, f.measure::amount_kind, f.at, f.outcome::fact_outcome, 0, 0
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int8[], $7::text[], $8::text[], $9::timestamptz[], $10::text[])
       as f (merchant, number, kind, ref, payment_ref, minor, currency, measure, at, outcome)
     join orders o on o.merchant = f.merchant and o.out_trade_no = f.number`,
    [
      of(({ merchant = 'shop' }) => merchant),
      of(({ order }) => order),
      of(kindOf),
      of(({ ref }) => ref),
      of(({ paymentRef = null }) => paymentRef),
      of(({ minor = 100 }) => minor),
      of(({ currency = 'CNY' }) => currency),
      of((fact) =>
        kindOf(fact) === 'payment_succeeded' ? 'none' : fact.cumulative === true ? 'cumulative' : 'individual',
      ),
      of(({ atMs }) => new Date(atMs)),
      of(({ outcome = 'applied' }) => outcome),
    ],
  )
}

const kindOf = ({ kind, paymentRef }: BookedFact) =>
  kind ?? (paymentRef === undefined ? 'payment_succeeded' : 'refund_succeeded')
