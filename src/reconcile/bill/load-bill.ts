import type pg from 'pg'
import type { BillEnd, BillLine, BillTotal } from '../../providers/bill.ts'
import type { BillFormat } from '../../providers/bill-formats.ts'
import { wrongTotals, yuanOfE5 } from '../../providers/bill-sums.ts'
import { insertBillRows, BILL_ROWS_PER_INSERT, type BilledRow } from '../../store/bill-rows.ts'
import { DamagedBill, textsIn } from './open-bill.ts'

/** A line of a bill that could not be read. */
export interface UnreadableLine {
  readonly file: number
  readonly line: number
  readonly reason: string
  readonly text: string
}

/** What is wrong with a bill as a whole: nothing can be decided by it. */
export interface BadBill {
  readonly reason:
    | 'not_a_bill'
    | 'incomplete'
    | 'wrong_recipient'
    | 'damaged'
    | 'does_not_add_up'
    | 'too_many_unreadable'
    | 'other_day'
  readonly detail: string
}

export type LoadedBill =
  | { readonly kind: 'loaded'; readonly bills: readonly WholeBill[]; readonly unreadable: readonly UnreadableLine[] }
  | { readonly kind: 'bad'; readonly bad: BadBill }
export type WholeBill = Extract<BillEnd, { readonly kind: 'whole' }>

/** Beyond so many it is not lines that are odd, but the bill is of another form than the one we know. */
const UNREADABLE_MAX = 1_000

/** Reads bills into the connection's table of rows; what is held here is a page of them. */
export async function loadBill(...given: Parameters<typeof load>): Promise<LoadedBill> {
  try {
    return await load(...given)
  } catch (error) {
    if (error instanceof DamagedBill) return bad('damaged', error.message)
    throw error
  }
}

async function load(
  client: pg.ClientBase,
  paths: readonly string[],
  format: BillFormat,
  onRows: (rows: number) => void,
): Promise<LoadedBill> {
  const bills: WholeBill[] = []
  const unreadable: UnreadableLine[] = []
  let [waiting, rows]: [BilledRow[], number] = [[], 0]
  const flush = async () => {
    if (waiting.length > 0) await insertBillRows(client, waiting)
    rows += waiting.length
    waiting = []
    onRows(rows)
  }
  const take = async (file: number, lines: readonly BillLine[]) => {
    for (const line of lines) {
      if (line.kind === 'unreadable') unreadable.push({ file, line: line.line, reason: line.reason, text: line.text })
      else if (line.kind === 'statement') waiting.push(rowOf(file, line))
      if (waiting.length >= BILL_ROWS_PER_INSERT) await flush()
    }
  }
  for (const path of paths)
    for await (const texts of textsIn(path, format)) {
      const reader = format.createReader()
      for await (const text of texts) {
        await take(bills.length, reader.push(text))
        if (reader.isNone()) break
        if (unreadable.length > UNREADABLE_MAX)
          return bad('too_many_unreadable', `more than ${UNREADABLE_MAX} lines cannot be read: ${reasonOf(unreadable)}`)
      }
      const { lines, end } = reader.end()
      await take(bills.length, lines)
      if (end.kind === 'refused') return bad(end.reason, end.detail)
      const wrong = wrongTotals(end.totals, end.unsure)
      if (wrong.length > 0) return bad('does_not_add_up', wrong.map(saySum).join('; '))
      bills.push(end)
    }
  await flush()
  if (bills.length === 0) return bad('not_a_bill', 'there is no bill in it')
  return { kind: 'loaded', bills, unreadable }
}

const bad = (reason: BadBill['reason'], detail: string): LoadedBill => ({ kind: 'bad', bad: { reason, detail } })

const reasonOf = (lines: readonly UnreadableLine[]) => `line ${lines[0]?.line ?? 0}: ${lines[0]?.reason ?? ''}`

const saySum = ({ title, kind, stated, found }: BillTotal) => {
  const say = (e5: bigint) => (kind === 'count' ? String(e5 / 100_000n) : yuanOfE5(e5))
  return `${title} is ${say(stated)}, and its rows come to ${say(found)}`
}

const rowOf = (file: number, { line, statement }: Extract<BillLine, { kind: 'statement' }>): BilledRow => ({
  ...{ file, line, what: statement.what, outTradeNo: statement.outTradeNo, ref: statement.ref },
  ...{ paymentRef: statement.paymentRef, amountMinor: statement.fact?.amountMinor ?? null },
  ...{ currency: statement.fact?.currency ?? null, atMs: statement.atMs, status: statement.status },
  askRef: statement.askRef,
})
