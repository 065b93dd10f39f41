/** Cells by the title of their column. */
export type BillRow = Readonly<Record<string, string>>

export interface Bill {
  readonly rows: readonly BillRow[]
  /** Counts and sums over the rows, as WeChat Pay added them up. */
  readonly totals: BillRow
  /** Lines, from 1, that could not be read: of another number of cells than titles. */
  readonly unreadable: readonly number[]
}

/**
 * Reads a trade bill of WeChat Pay, v2 or v3: titles, rows, titles of the totals, totals. Every cell of a row begins
 * with a back-tick, and nothing is quoted: names of goods may hold commas, so that only `` ,` `` ends a cell.
 * @returns undefined if it is no bill, or not whole
 * @see https://pay.weixin.qq.com/docs/merchant/apis/in-app-payment/get-trade-bill.html
 */
export function readBill(text: string): Bill | undefined {
  const lines = text.split(/\r?\n/)
  const endOfRows = lines.findIndex((line, index) => index > 0 && !isRow(line))
  if (endOfRows < 1) return undefined
  const totals = rowOf(titlesOf(lines[endOfRows]), lines[endOfRows + 1] ?? '')
  if (totals === undefined || lines.slice(endOfRows + 2).some((line) => line !== '')) return undefined
  const titles = titlesOf(lines[0])
  const rows: BillRow[] = []
  const unreadable: number[] = []
  for (const [index, line] of lines.slice(1, endOfRows).entries()) {
    const row = rowOf(titles, line)
    if (row === undefined) unreadable.push(index + 2)
    else rows.push(row)
  }
  return { rows, totals, unreadable }
}

const isRow = (line: string) => line.startsWith('`')
/** The byte order mark before the first title counts as space. */
const titlesOf = (line = '') => line.split(',').map((title) => title.trim())

function rowOf(titles: readonly string[], line: string): BillRow | undefined {
  if (!isRow(line)) return undefined
  const cells = line.slice(1).split(',`')
  return cells.length === titles.length
    ? Object.fromEntries(titles.map((title, index) => [title, cells[index]?.trim() ?? '']))
    : undefined
}
