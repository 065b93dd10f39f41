import type pg from 'pg'
import { snapshotOn } from '../../runtime/postgres.ts'
import { readKnownOrders } from '../../store/bill-known.ts'
import { BILL_ROWS_PER_PAGE, readBillRows, type BilledRow } from '../../store/bill-rows.ts'
import type { BillFinding } from './finding.ts'
import { judgeOrder } from './judge-order.ts'

export interface MatchedPage {
  readonly rows: readonly BilledRow[]
  readonly findings: readonly BillFinding[]
}

/** Compares the bill's rows with what is known of their orders, all rows of an order together, a page at a time. */
export async function* matchBill(client: pg.ClientBase, merchant: string): AsyncGenerator<MatchedPage> {
  let last: BilledRow | undefined
  for (;;) {
    const page = await snapshotOn(client, async (tx) => {
      const rows = wholeOrders(await readBillRows(tx, last))
      const orders = byOrder(rows)
      return { rows, orders, known: await readKnownOrders(tx, merchant, [...orders.keys()]) }
    })
    if (page.rows.length === 0) return
    const findings = [...page.orders].flatMap(([outTradeNo, rows]) => judgeOrder(rows, page.known.get(outTradeNo)))
    yield { rows: page.rows, findings }
    last = page.rows.at(-1)
  }
}

/** Leaves the last order of a full page to the next one, unless all of the page is of that order. */
function wholeOrders(rows: readonly BilledRow[]): readonly BilledRow[] {
  const last = rows.at(-1)?.outTradeNo
  if (rows.length < BILL_ROWS_PER_PAGE) return rows
  const whole = rows.slice(
    0,
    rows.findIndex(({ outTradeNo }) => outTradeNo === last),
  )
  return whole.length === 0 ? rows : whole
}

function byOrder(rows: readonly BilledRow[]): ReadonlyMap<string, BilledRow[]> {
  const orders = new Map<string, BilledRow[]>()
  for (const row of rows) {
    const some = orders.get(row.outTradeNo)
    if (some === undefined) orders.set(row.outTradeNo, [row])
    else some.push(row)
  }
  return orders
}
