import type { Queryable } from '../runtime/postgres.ts'
import type { Status } from '../orders/model.ts'
import type { FoundOrder } from './find-order.ts'
import { ORDER_COLUMNS, orderOf, type OrderRow } from './lock-orders.ts'
import { int, ms, rowsOf } from './statement.ts'

export interface ArchivedOrder {
  readonly status: Status
  readonly archivedAtMs: number
  /** Undefined: its month was exported and dropped; only the tombstone is here. */
  readonly found: FoundOrder | undefined
}

const FIND = {
  name: 'find-archived',
  text: `select t.status::text, ${ms('t.archived_at')}, a.order_id is not null, o.lane, ${ms('o.created_at')},
    ${ms('o.updated_at')}, ${ORDER_COLUMNS}
    from tombstones t left join archived_orders a on a.month = t.month and a.order_id = t.order_id
    cross join lateral jsonb_populate_record(null::orders, a.document -> 'order') o
    where t.merchant = $1 and t.out_trade_no = $2`,
}

/** @returns undefined: it was never archived. */
export async function findArchived(
  db: Queryable,
  merchant: string,
  outTradeNo: string,
): Promise<ArchivedOrder | undefined> {
  type Row = [Status, unknown, isHere: boolean, lane: number, createdAtMs: unknown, updatedAtMs: unknown, ...OrderRow]
  const [row] = await rowsOf<Row>(db, FIND, [merchant, outTradeNo])
  if (row === undefined) return undefined
  const [status, archivedAt, isHere, lane, createdAtMs, updatedAtMs, ...columns] = row
  const archivedAtMs = int(archivedAt)
  if (!isHere) return { status, archivedAtMs, found: undefined }
  const times = { createdAtMs: int(createdAtMs), updatedAtMs: int(updatedAtMs), archivedAtMs }
  return { status, archivedAtMs, found: { ...orderOf(columns), lane, ...times } }
}
