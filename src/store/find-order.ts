import type { Order } from '../orders/model.ts'
import type { Queryable } from '../runtime/postgres.ts'
import { ORDER_COLUMNS, orderOf, type OrderRow } from './lock-orders.ts'
import { int, ms, rowsOf } from './statement.ts'

/** An order for people and programs that only look. */
export interface FoundOrder {
  readonly order: Order
  readonly lane: number
  readonly hasPayload: boolean
  /** Events of it that a brake keeps back. */
  readonly waitingCount: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** Null: it lives. */
  readonly archivedAtMs: number | null
}

const FIND_ORDER = {
  name: 'find-order',
  text: `select o.lane, ${ms('o.created_at')}, ${ms('o.updated_at')}, ${ORDER_COLUMNS}
    from orders o where o.merchant = $1 and o.out_trade_no = $2`,
}

/** @returns undefined: neither the merchant nor a callback ever named it, or it is archived (`find-archived.ts`). */
export async function findOrder(db: Queryable, merchant: string, outTradeNo: string): Promise<FoundOrder | undefined> {
  type Row = [lane: number, createdAtMs: unknown, updatedAtMs: unknown, ...OrderRow]
  const [row] = await rowsOf<Row>(db, FIND_ORDER, [merchant, outTradeNo])
  if (row === undefined) return undefined
  const [lane, createdAtMs, updatedAtMs, ...columns] = row
  return { ...orderOf(columns), lane, createdAtMs: int(createdAtMs), updatedAtMs: int(updatedAtMs), archivedAtMs: null }
}
