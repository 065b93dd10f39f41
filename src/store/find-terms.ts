import type { ExistingOrder } from '../orders/create-order.ts'
import type { Status } from '../orders/model.ts'
import type { Transaction } from '../runtime/postgres.ts'
import { texts } from './bind.ts'
import { int, ms, rowsOf } from './statement.ts'

// What the api's create compares with. Rows come as `hex`: node-postgres decodes every binary field as UTF-8.
const FIND_TERMS = {
  name: 'find-terms',
  text: `
select i.ord, o.id, o.status::text, encode(o.body_hash, 'hex'), o.amount_minor, o.currency, ${ms('o.expires_at')},
  o.group_key, p.payload, exists (select from tombstones t where t.merchant = i.merchant and t.out_trade_no = i.out_trade_no)
from unnest($1::text[], $2::text[]) with ordinality as i (merchant, out_trade_no, ord)
left join orders o on o.merchant = i.merchant and o.out_trade_no = i.out_trade_no
left join order_payloads p on p.order_id = o.id`,
}
type Row = [
  ord: unknown,
  id: unknown,
  status: Status | null,
  bodyHash: string | null,
  amountMinor: unknown,
  currency: string | null,
  expiresAtMs: unknown,
  groupKey: string | null,
  payload: string | null,
  isArchived: boolean,
]

export type FoundTerms =
  | { readonly kind: 'none' }
  | { readonly kind: 'archived' }
  | { readonly kind: 'order'; readonly orderId: number; readonly order: ExistingOrder }

/** @returns one per key, at the same index. */
export async function findTerms(
  tx: Transaction,
  keys: readonly { readonly merchant: string; readonly outTradeNo: string }[],
): Promise<FoundTerms[]> {
  const found: FoundTerms[] = keys.map(() => ({ kind: 'none' }))
  const merchants = texts(keys.map(({ merchant }) => merchant))
  const rows = await rowsOf<Row>(tx, FIND_TERMS, [merchants, texts(keys.map(({ outTradeNo }) => outTradeNo))])
  for (const row of rows) found[int(row[0]) - 1] = foundOf(row)
  return found
}

function foundOf(row: Row): FoundTerms {
  const [, id, status, bodyHash, amountMinor, currency, expiresAtMs, groupKey, payload, isArchived] = row
  if (isArchived) return { kind: 'archived' }
  if (status === null) return { kind: 'none' }
  const orderId = int(id)
  if (status === 'awaited') return { kind: 'order', orderId, order: { status } }
  const terms = { amountMinor: int(amountMinor), currency: currency ?? '', expiresAtMs: int(expiresAtMs) }
  return {
    kind: 'order',
    orderId,
    order: {
      status,
      bodyHash: bodyHash === null ? null : Buffer.from(bodyHash, 'hex'),
      terms: { ...terms, groupKey, payload },
    },
  }
}
