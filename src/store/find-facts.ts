import type { Fact } from '../orders/model.ts'
import type { Transaction } from '../runtime/postgres.ts'
import { int2s, int8s, labels, texts } from './bind.ts'
import { int, rowsOf } from './statement.ts'

/** A fact as it was delivered, or (fact null) only an order to look for. */
export interface Sought {
  readonly merchant: string
  readonly outTradeNo: string
  readonly fact: Fact | null
}

export interface FoundFact {
  /** Undefined: the order is not known, and no stub was asked for or possible. */
  readonly orderId: number | undefined
  /** The same fact is there: a hint for plain duplicates, read without a lock. */
  readonly isKnown: boolean
}

// A scalar subquery in the select list can only be run per row, by the key. EXISTS would do in WHERE as an anti-join that
// walks the whole index (105 instead of 47 µs a callback), and in the select list as a hash of the whole table: both
// were seen while the plan was made with facts still empty.
const FIND_FACTS = {
  name: 'find-facts',
  text: `
with sought as materialized (
  select * from unnest($1::text[], $2::text[], $3::fact_kind[], $4::text[], $5::int8[], $6::text[], $7::amount_kind[])
    with ordinality as t (merchant, out_trade_no, event_type, provider_ref, amount_minor, currency, amount_kind, ord)
), found as materialized (
  select s.ord, s.merchant, s.out_trade_no, s.event_type, o.id, (
    select true from facts f where f.order_id = o.id and f.event_type = s.event_type and f.provider_ref = s.provider_ref
      and f.amount_minor = s.amount_minor and f.currency = s.currency and f.amount_kind = s.amount_kind) as known
  from sought s left join orders o on o.merchant = s.merchant and o.out_trade_no = s.out_trade_no
), stub as (
  insert into orders (merchant, out_trade_no, lane)
  select distinct merchant collate "C", out_trade_no collate "C", ($8::int2[])[1] from found
  where id is null and event_type is not null order by 1, 2
  on conflict do nothing
  returning id, merchant, out_trade_no
)
select (select string_agg(coalesce(id, 0)::text, ',' order by ord) from found),
  (select string_agg(ord::text, ',') from found where known),
  (select json_agg(json_build_array(id, merchant, out_trade_no)) from stub)`,
}

/**
 * Statement A: finds each fact's order, whether the fact is plainly known, and inserts stubs (`awaited`) for orders that
 * are not there.
 * @param sought sorted, so that index pages are visited in order
 * @returns one per sought, at the same index. An order that is neither found nor stubbed was created in between.
 */
export async function findFacts(tx: Transaction, lane: number, sought: readonly Sought[]): Promise<FoundFact[]> {
  const rows = await rowsOf<[ids: string | null, known: string | null, stubs: [number, string, string][] | null]>(
    tx,
    FIND_FACTS,
    [
      texts(sought.map(({ merchant }) => merchant)),
      texts(sought.map(({ outTradeNo }) => outTradeNo)),
      labels(sought.map(({ fact }) => fact?.eventType ?? null)),
      texts(sought.map(({ fact }) => fact?.providerRef ?? null)),
      int8s(sought.map(({ fact }) => fact?.amountMinor ?? null)),
      texts(sought.map(({ fact }) => fact?.currency ?? null)),
      labels(sought.map(({ fact }) => fact?.amountKind ?? null)),
      int2s([lane]),
    ],
  )
  const [ids, known, stubs] = rows[0] ?? [null, null, null]
  const knownOrds = new Set(known?.split(',').map(Number))
  const stubIds = new Map(stubs?.map(([id, merchant, outTradeNo]) => [`${merchant}\0${outTradeNo}`, int(id)]))
  return (ids?.split(',') ?? []).map((text, index) => {
    const id = int(text)
    const key = sought[index]
    const stub = id === 0 && key !== undefined ? stubIds.get(`${key.merchant}\0${key.outTradeNo}`) : undefined
    return { orderId: id === 0 ? stub : id, isKnown: knownOrds.has(index + 1) }
  })
}
