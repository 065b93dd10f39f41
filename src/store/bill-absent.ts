import type pg from 'pg'
import type { AmountKind } from '../orders/model.ts'
import { dayOf } from '../runtime/days.ts'
import type { Queryable } from '../runtime/postgres.ts'
import { int, ms } from './statement.ts'

/** A payment or refund that we know, and that is in no row of the bill. */
export interface AbsentFact {
  readonly what: 'payment' | 'refund'
  readonly outTradeNo: string
  readonly ref: string
  readonly paymentRef: string | null
  readonly amountMinor: number
  readonly currency: string
  readonly amountKind: AmountKind
  readonly atMs: number
}

export interface AbsentOptions {
  readonly merchant: string
  /** `wechatpay:`; of every reference of the provider. */
  readonly refPrefix: string
  readonly fromMs: number
  /** Not inclusive. */
  readonly untilMs: number
  /** Which of them the bill lists at all. */
  readonly payments: boolean
  readonly refunds: boolean
  /** The first month in which an order with such a fact may have been archived, `2026-11-01`; undefined: none has. */
  readonly archivedSince: string | undefined
}

const FETCH = 2_000
const COLUMNS = `f.event_type, f.provider_ref, f.payment_ref, f.amount_minor, f.currency, f.amount_kind, f.event_time`
const wanted = (alias: string) => `${alias}.event_time >= $3 and starts_with(${alias}.provider_ref, $2)
  and ${alias}.event_time < $4 and ((${alias}.event_type = 'payment_succeeded' and $5)
    or (${alias}.event_type = 'refund_succeeded' and $6))`
// What was refunded so far is in no row; its payment's refunds are.
const OURS = (archived: string) => `
declare absent no scroll cursor for
select case f.event_type when 'payment_succeeded' then 'payment' else 'refund' end as what, f.out_trade_no, f.provider_ref,
  f.payment_ref, f.amount_minor, f.currency, f.amount_kind::text, ${ms('f.event_time')} as at_ms
from (select o.out_trade_no, ${COLUMNS} from facts f join orders o on o.id = f.order_id
  where o.merchant = $1 and ${wanted('f')}${archived}) f
where not exists (select from bill_rows b where b.ref = f.provider_ref and b.out_trade_no = f.out_trade_no)
  and (f.amount_kind <> 'cumulative' or not exists (
    select from bill_rows b where b.payment_ref = f.payment_ref and b.what = 'refund' and b.out_trade_no = f.out_trade_no))
order by f.out_trade_no collate "C", f.provider_ref collate "C", f.event_type`
const ARCHIVED = `
  union all
  select a.document -> 'order' ->> 'out_trade_no', ${COLUMNS} from archived_orders a
    cross join lateral jsonb_populate_recordset(null::facts, a.document -> 'facts') f
  where a.month >= $7 and a.document -> 'order' ->> 'merchant' = $1 and ${wanted('f')}`

interface Row {
  what: AbsentFact['what']
  out_trade_no: string
  provider_ref: string
  payment_ref: string | null
  amount_minor: string
  currency: string
  amount_kind: AmountKind
  at_ms: string
}

/** What we know of these days and the bill has not, in the order of the orders' numbers, a page at a time. */
export async function* absentFacts(client: pg.ClientBase, options: AbsentOptions): AsyncGenerator<AbsentFact[]> {
  const { merchant, refPrefix, fromMs, untilMs, payments, refunds, archivedSince } = options
  const times = [new Date(fromMs), new Date(untilMs)]
  const archive = archivedSince === undefined ? [] : [archivedSince]
  await client.query('begin isolation level repeatable read, read only')
  try {
    const text = OURS(archivedSince === undefined ? '' : ARCHIVED)
    await client.query(text, [merchant, refPrefix, ...times, payments, refunds, ...archive])
    for (;;) {
      const { rows } = await client.query<Row>(`fetch ${FETCH} from absent`)
      if (rows.length === 0) return
      yield rows.map((row) => ({
        ...{ what: row.what, outTradeNo: row.out_trade_no, ref: row.provider_ref, paymentRef: row.payment_ref },
        ...{ amountMinor: int(row.amount_minor), currency: row.currency, amountKind: row.amount_kind },
        atMs: int(row.at_ms),
      }))
    }
  } finally {
    await client.query('rollback')
  }
}

/** The month to look from in the archive: what changed on a day is not archived before so many days have passed. */
export function archivedSince(fromMs: number, archiveAfterDays: number, nowMs: number): string | undefined {
  const sinceMs = fromMs + archiveAfterDays * 86_400_000
  return archiveAfterDays === 0 || sinceMs > nowMs ? undefined : `${dayOf(sinceMs).slice(0, 7)}-01`
}

/** Of these keys, those that the bills of other days have. */
export async function seenInOtherBills(
  db: Queryable,
  {
    merchant,
    provider,
    days,
  }: { readonly merchant: string; readonly provider: string; readonly days: readonly string[] },
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ key: string }>(
    `select s.key from bill_runs r join bill_seen s on s.run_id = r.id and s.key = any($4)
     where r.merchant = $1 and r.provider = $2 and r.day = any($3::date[]) and r.superseded_by is null
       and r.result in ('ok', 'findings')`,
    [merchant, provider, days, keys],
  )
  return new Set(rows.map(({ key }) => key))
}
