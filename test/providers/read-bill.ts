import { createLineSplitter } from '../../src/providers/text-lines.ts'
import { createBillParser, type BillRow } from '../../src/providers/wechatpay/read-bill.ts'

export interface Bill {
  readonly rows: readonly BillRow[]
  readonly totals: BillRow
  /** Lines, from 1, that could not be read. */
  readonly unreadable: readonly number[]
}

/** A whole bill of WeChat Pay at once. @returns undefined if it is no bill, or not whole */
export function readBill(text: string): Bill | undefined {
  const [splitter, parser] = [createLineSplitter(16_384), createBillParser()]
  const rows: BillRow[] = []
  const unreadable: number[] = []
  for (const line of [...splitter.push(text), ...splitter.end()]) {
    const read = parser.take(line)
    if (read?.kind === 'row') rows.push(read.row)
    else if (read?.kind === 'unreadable') unreadable.push(line.number)
  }
  const totals = parser.totals()
  return totals && { rows, totals, unreadable }
}
