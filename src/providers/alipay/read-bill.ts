import { parse } from 'csv-parse/sync'
import { chinaTimeMs } from '../china-time.ts'
import type { TextLine } from '../text-lines.ts'
import type { BillRow } from './facts-of-bill.ts'

export type ReadRow = { readonly kind: 'row'; readonly row: BillRow } | { readonly kind: 'unreadable' }

/** What the comment lines around the rows say. Money as text, in yuan. */
export interface BillComments {
  readonly account: string | null
  readonly fromMs: number | null
  readonly totals: Readonly<Record<'交易' | '退款', StatedTotal | undefined>>
}
export interface StatedTotal {
  readonly count: number
  readonly received: string
  readonly discount: string
}

export interface BillParser {
  readonly take: (line: TextLine) => ReadRow | undefined
  readonly titles: () => readonly string[]
  /** Undefined: it is no bill of details, or ends before its totals. */
  readonly comments: () => BillComments | undefined
}

/** The first line of the details; of the summary that lies beside them it is another. */
export const DETAILS = '#支付宝业务明细查询'
const ACCOUNT = /^#账号[：:]\[(\d{16,32})\]/
const FROM = /^#起始日期[：:]\[(\d{4})年(\d\d)月(\d\d)日 (\d\d:\d\d:\d\d)\]/
const LIST = /^#-+业务明细列表-+$/
const TOTAL =
  /^#(交易|退款)合计[：:](\d{1,9})笔，商家实收(?:退款)?共(-?\d{1,10}(?:\.\d{1,2})?)元，商家优惠(?:退款)?共(-?\d{1,10}(?:\.\d{1,2})?)元$/

/**
 * Reads the trade bill's details (业务明细) line by line: comments, titles, rows, comments with the totals. Cells are
 * padded with tabs; titles are given without their unit (`（元）`).
 */
export function createBillParser(): BillParser {
  let part: 'first' | 'head' | 'titles' | 'rows' | 'tail' | 'broken' = 'first'
  let titles: readonly string[] = []
  let [account, fromMs]: [string | null, number | null] = [null, null]
  const totals: Record<'交易' | '退款', StatedTotal | undefined> = { 交易: undefined, 退款: undefined }

  const comment = (text: string) => {
    account ??= ACCOUNT.exec(text)?.[1] ?? null
    const [, year, month, day, time] = FROM.exec(text) ?? []
    if (time !== undefined) fromMs ??= chinaTimeMs(`${year ?? ''}-${month ?? ''}-${day ?? ''} ${time}`) ?? null
    const [, kind, count, received, discount] = TOTAL.exec(text) ?? []
    if (discount !== undefined)
      totals[kind as '交易' | '退款'] = { count: Number(count), received: received ?? '', discount }
  }
  return {
    take: ({ text: given, isWhole }) => {
      // A spreadsheet gives every line as many commas as the longest has.
      const bare = given.startsWith('#') || part === 'first' ? given.trim().replace(/,+$/, '') : given.trimEnd()
      const text = part === 'first' ? bare.replace(/^\ufeff/, '') : bare
      switch (part) {
        case 'first':
          part = text === DETAILS ? 'head' : 'broken'
          return undefined
        case 'head':
          if (LIST.test(text)) part = 'titles'
          else if (text.startsWith('#')) comment(text)
          else part = 'broken'
          return undefined
        case 'titles':
          titles = cellsOf(text).map((title) => title.replace(/[（(]元[）)]$/, ''))
          part = 'rows'
          return undefined
        case 'rows': {
          if (text.startsWith('#')) {
            part = 'tail'
            comment(text)
            return undefined
          }
          const row = isWhole ? rowOf(titles, given) : undefined
          return row === undefined ? { kind: 'unreadable' } : { kind: 'row', row }
        }
        case 'tail':
          if (text.startsWith('#')) comment(text)
          else if (text !== '') part = 'broken'
          return undefined
        case 'broken':
          return undefined
      }
    },
    titles: () => titles,
    comments: () =>
      part === 'tail' && totals.交易 !== undefined && totals.退款 !== undefined
        ? { account, fromMs, totals }
        : undefined,
  }
}

function rowOf(titles: readonly string[], line: string): BillRow | undefined {
  const cells = cellsOf(line)
  if (cells.length !== titles.length) return undefined
  const row: Record<string, string> = {}
  for (let at = 0; at < titles.length; at++) row[titles[at] ?? ''] = cells[at] ?? ''
  return row
}

/** Quotes are rare, and a parser for each line costs thirty times the split. */
const cellsOf = (line: string): string[] =>
  (line.includes('"') ? quotedCellsOf(line) : line.split(',')).map((cell) => cell.trim())

function quotedCellsOf(line: string): string[] {
  try {
    const [cells] = parse(line, { relax_quotes: true, relax_column_count: true })
    return cells ?? []
  } catch {
    return line.split(',') // A quote that nothing closes is one in a name of goods.
  }
}
