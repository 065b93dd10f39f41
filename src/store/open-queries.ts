import type { Transaction } from '../runtime/postgres.ts'
import { int8s } from './bind.ts'
import { PAYMENT_REF } from './file-queries.ts'
import { int, rowsOf } from './statement.ts'

const OPEN_QUERIES = {
  name: 'open-queries',
  text: `select order_id, ref from timers where order_id = any($1::int8[]) and kind = 'query'
    and ref <> '${PAYMENT_REF}'`,
}

/** What a hint has filed about these orders already: the refs of their `query` timers, by order. */
export async function openQueries(tx: Transaction, orderIds: readonly number[]): Promise<Map<number, Set<string>>> {
  const open = new Map<number, Set<string>>()
  for (const [id, ref] of await rowsOf<[unknown, string]>(tx, OPEN_QUERIES, [int8s(orderIds)])) {
    const refs = open.get(int(id)) ?? new Set()
    open.set(int(id), refs.add(ref))
  }
  return open
}
