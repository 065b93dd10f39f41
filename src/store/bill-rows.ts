import type pg from 'pg'
import type { Queryable, Transaction } from '../runtime/postgres.ts'
import { createBinder } from './binder.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

/** A row of a bill while it is matched: in a table of the connection's own, which ends with it. */
export interface BilledRow {
  /** From 0, of those that are imported together. */
  readonly file: number
  readonly line: number
  readonly what: 'payment' | 'refund'
  readonly outTradeNo: string
  readonly ref: string
  readonly paymentRef: string | null
  /** Null: the row proves nothing, as it was under way, had failed or was undone. */
  readonly amountMinor: number | null
  readonly currency: string | null
  readonly atMs: number
  readonly status: string
  readonly askRef: string | null
}

export const BILL_ROWS_PER_PAGE = 500
/** Rows that live through a small collection are kept until the next large one: with 2,000 the process took 307 MB. */
export const BILL_ROWS_PER_INSERT = 200

export async function createBillRows(client: pg.ClientBase): Promise<void> {
  await client.query(`create temporary table bill_rows (
    file int4 not null, line int4 not null, what text not null, out_trade_no text collate "C" not null,
    ref text collate "C" not null, payment_ref text collate "C", amount_minor int8, currency text,
    at timestamptz not null, status text not null, ask_ref text)`)
}

const bind = createBinder<readonly BilledRow[]>()
const INSERT = {
  name: 'insert-bill-rows',
  text: `insert into bill_rows select file, line, what, out_trade_no, ref, payment_ref, amount_minor, currency, at, status, ask_ref
    from ${bind.rows<BilledRow>(
      'r',
      (rows) => rows,
      (is) => [
        is.int4('file', (row) => row.file),
        is.int4('line', (row) => row.line),
        is.text('what', (row) => row.what),
        is.text('out_trade_no', (row) => row.outTradeNo),
        is.text('ref', (row) => row.ref),
        is.text('payment_ref', (row) => row.paymentRef),
        is.int8('amount_minor', (row) => row.amountMinor),
        is.text('currency', (row) => row.currency),
        is.timestamp('at', (row) => row.atMs),
        is.text('status', (row) => row.status),
        is.text('ask_ref', (row) => row.askRef),
      ],
    )}`,
}
export async function insertBillRows(client: pg.ClientBase, rows: readonly BilledRow[]): Promise<void> {
  await client.query({ ...INSERT, values: bind.values(rows) })
}

/** Once all rows are in. */
export async function indexBillRows(client: pg.ClientBase): Promise<void> {
  await client.query('create index on bill_rows (out_trade_no, file, line)')
  await client.query('create index on bill_rows (ref)')
  await client.query('create index on bill_rows (payment_ref) where payment_ref is not null')
  await client.query('analyze bill_rows')
}

const PAGE = {
  name: 'page-bill-rows',
  text: `select file, line, what, out_trade_no, ref, payment_ref, amount_minor, currency, ${ms('at')}, status, ask_ref
    from bill_rows where (out_trade_no, file, line) > ($1, $2, $3) order by out_trade_no, file, line limit ${BILL_ROWS_PER_PAGE}`,
}
type Row = [
  ...[file: number, line: number, what: BilledRow['what'], outTradeNo: string, ref: string, paymentRef: string | null],
  ...[amountMinor: unknown, currency: string | null, atMs: unknown, status: string, askRef: string | null],
]
const rowOf = (row: Row): BilledRow => ({
  ...{ file: row[0], line: row[1], what: row[2], outTradeNo: row[3], ref: row[4], paymentRef: row[5] },
  ...{ amountMinor: intOrNull(row[6]), currency: row[7], atMs: int(row[8]), status: row[9], askRef: row[10] },
})

/** The rows after one, in the order of their orders' numbers. */
export async function readBillRows(
  db: Queryable | Transaction,
  after: Pick<BilledRow, 'outTradeNo' | 'file' | 'line'> | undefined,
): Promise<BilledRow[]> {
  const from = after === undefined ? ['', -1, -1] : [after.outTradeNo, after.file, after.line]
  return (await rowsOf<Row>(db, PAGE, from)).map(rowOf)
}

/**
 * How the times of the payments lie to a day: a bill of another day has none in it. Where it lists both and nothing was
 * paid, those of the refunds.
 */
export async function countInDay(
  db: Queryable,
  fromMs: number,
  untilMs: number,
  listsBoth: boolean,
): Promise<{ readonly inside: number; readonly outside: number }> {
  const { rows } = await db.query<{ inside: string; outside: string }>(
    `select count(*) filter (where at >= $1 and at < $2) as inside, count(*) filter (where at < $1 or at >= $2) as outside
     from bill_rows where what = 'payment' or ($3 and not exists (select from bill_rows where what = 'payment'))`,
    [new Date(fromMs), new Date(untilMs), listsBoth],
  )
  return { inside: int(rows[0]?.inside ?? 0), outside: int(rows[0]?.outside ?? 0) }
}
