import { inbox, skip, type Effect, type Fulfillment } from '../../src/consumer/consumer.ts'

export const TABLES = `
create table if not exists stock (sku text primary key, quantity integer not null check (quantity >= 0));
create table if not exists stock_moves (
  event_id text not null, sku text not null, order_key text not null, quantity integer not null,
  primary key (event_id, sku))`

interface Item {
  readonly sku: string
  readonly quantity: number
}

/** The order's own payload, as the merchant's order service gave it: `{"items":[{"sku","quantity"}]}`. */
function itemsOf({ payload }: Fulfillment): Item[] {
  const { items } = JSON.parse(payload ?? '{"items":[]}') as { items: Item[] }
  // Locked in one order everywhere.
  return items.toSorted((a, b) => (a.sku < b.sku ? -1 : 1))
}

const keyOf = ({ merchant, outTradeNo }: Fulfillment) => `${merchant}/${outTradeNo}`

/** What a stock does with the events of the inventory topic. */
export const inventoryEffects: Readonly<Record<string, Effect>> = {
  deduct: inbox(async (tx, event, { report }) => {
    const items = itemsOf(event)
    const { rows } = await tx.query<Item>(
      'select sku, quantity from stock where sku = any ($1) order by sku for update',
      [items.map(({ sku }) => sku)],
    )
    const left = new Map(rows.map(({ sku, quantity }) => [sku, quantity]))
    const missing = items.filter(({ sku, quantity }) => (left.get(sku) ?? 0) < quantity)
    if (missing.length > 0) {
      // Nothing is deducted; a person decides about the order, as it is paid.
      await report('fulfillment_failed', `out of stock: ${missing.map(({ sku }) => sku).join(', ')}`)
      return
    }
    for (const { sku, quantity } of items) {
      await tx.query('update stock set quantity = quantity - $2 where sku = $1', [sku, quantity])
      await tx.query('insert into stock_moves values ($1, $2, $3, $4)', [event.eventId, sku, keyOf(event), -quantity])
    }
  }),
  /** What the order took, as it stands in our own books. */
  restore: inbox(async (tx, event) => {
    const { rows } = await tx.query<Item>(
      `select sku, -sum(quantity)::int as quantity from stock_moves where order_key = $1
       group by sku having sum(quantity) < 0 order by sku`,
      [keyOf(event)],
    )
    for (const { sku, quantity } of rows) {
      await tx.query('update stock set quantity = quantity + $2 where sku = $1', [sku, quantity])
      await tx.query('insert into stock_moves values ($1, $2, $3, $4)', [event.eventId, sku, keyOf(event), quantity])
    }
  }),
  /** Nothing is reserved here before an order is paid. */
  unreserve: skip,
  refund: skip,
}
