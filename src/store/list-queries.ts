import type { Queryable } from '../runtime/postgres.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

/** What a provider is to be asked about, as it lies in `timers`. */
export interface FiledQuery {
  /** Null: its order is gone. */
  readonly merchant: string | null
  readonly outTradeNo: string | null
  readonly lane: number
  /** What it is about: `refund:<out_refund_no>`. */
  readonly ref: string
  readonly dueAtMs: number
  /** How often it was asked in vain. */
  readonly attempts: number
  /** Until then somebody asks it. */
  readonly leasedUntilMs: number | null
}

// Lane by lane, as the index begins with the lane.
const LIST = {
  name: 'list-queries',
  text: `select o.merchant, o.out_trade_no, t.lane, t.ref, ${ms('t.due_at')}, t.attempts, ${ms('t.leased_until')}
    from (select distinct lane from lanes) l
    cross join lateral
      (select * from timers where lane = l.lane and kind = 'query' order by due_at limit $1) t
    left join orders o on o.id = t.order_id
    order by t.due_at, t.id limit $1`,
}
type Row = [string | null, string | null, number, string, unknown, number, unknown]

/** The first to be due of the queries that are filed. */
export async function listQueries(db: Queryable, rowsMax: number): Promise<FiledQuery[]> {
  const rows = await rowsOf<Row>(db, LIST, [rowsMax])
  return rows.map(([merchant, outTradeNo, lane, ref, dueAt, attempts, leasedUntil]) => ({
    ...{ merchant, outTradeNo, lane, ref, attempts },
    dueAtMs: int(dueAt),
    leasedUntilMs: intOrNull(leasedUntil),
  }))
}
