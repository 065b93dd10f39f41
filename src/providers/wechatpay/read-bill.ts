import type { TextLine } from '../text-lines.ts'

/** Cells by the title of their column. */
export type BillRow = Readonly<Record<string, string>>

/** One line of a bill: a row, or what could not be read as one. Everything else comes to undefined. */
export type ReadRow = { readonly kind: 'row'; readonly row: BillRow } | { readonly kind: 'unreadable' }

export interface BillParser {
  readonly take: (line: TextLine) => ReadRow | undefined
  readonly titles: () => readonly string[]
  /** Counts and sums over the rows, as WeChat Pay added them up. Undefined: it is no bill, or not whole. */
  readonly totals: () => BillRow | undefined
}

/**
 * Reads a trade bill of WeChat Pay, v2 or v3, line by line: titles, rows, titles of the totals, totals. Every cell of a
 * row begins with a back-tick, and nothing is quoted: names of goods may hold commas, so that only `` ,` `` ends a cell.
 * @see https://pay.weixin.qq.com/docs/merchant/apis/in-app-payment/get-trade-bill.html
 */
export function createBillParser(): BillParser {
  let titles: readonly string[] | undefined
  let totalTitles: readonly string[] | undefined
  let totals: BillRow | undefined
  let isBroken = false
  let isCut = false
  return {
    take: (line) => {
      const { text } = line
      if (titles === undefined) titles = titlesOf(text)
      else if (totalTitles === undefined) {
        if (isRow(text)) {
          const row = line.isWhole ? rowOf(titles, text) : undefined
          isCut = row === undefined
          return row === undefined ? { kind: 'unreadable' } : { kind: 'row', row }
        }
        // A line feed in a name of goods: the rest of a row that has been named, or of its last cell.
        if (!isTotals(text)) {
          if (isCut) return undefined
          isCut = true
          return { kind: 'unreadable' }
        }
        totalTitles = titlesOf(text)
      } else if (totals === undefined) {
        totals = rowOf(totalTitles, text)
        isBroken ||= totals === undefined
      } else isBroken ||= text !== ''
      return undefined
    },
    titles: () => titles ?? [],
    totals: () => (isBroken ? undefined : totals),
  }
}

/** `总交易单数,…`: no cell, so without a back-tick. */
const isTotals = (line: string) => line.startsWith('总') && !line.includes('`')
const isRow = (line: string) => line.startsWith('`')
/** The byte order mark before the first title counts as space. */
const titlesOf = (line: string) => line.split(',').map((title) => title.trim())

function rowOf(titles: readonly string[], line: string): BillRow | undefined {
  if (!isRow(line)) return undefined
  const cells = line.slice(1).split(',`')
  if (cells.length !== titles.length) return undefined
  const row: Record<string, string> = {}
  for (let at = 0; at < titles.length; at++) row[titles[at] ?? ''] = (cells[at] ?? '').trim()
  return row
}
