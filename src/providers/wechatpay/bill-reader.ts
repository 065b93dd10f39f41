import {
  BILL_LINE_CHARS_MAX,
  UNREADABLE_CHARS_MAX,
  type BillEnd,
  type BillLine,
  type BillReader,
  type BillTotal,
} from '../bill.ts'
import { e5OfYuan } from '../bill-sums.ts'
import { createTitleCheck } from '../bill-titles.ts'
import { createLineSplitter, type TextLine } from '../text-lines.ts'
import { statementOf } from './bill-statement.ts'
import { createBillParser, type BillRow } from './read-bill.ts'
import type { Recipient } from './recipient.ts'

/** Column by the title of its total. */
const SUMMED: readonly (readonly [total: string, column: string])[] = [
  ['应结订单总金额', '应结订单金额'],
  ['退款总金额', '退款金额'],
  ['充值券退款总金额', '充值券退款金额'],
  ['手续费总金额', '手续费'],
  ['订单总金额', '订单金额'],
  ['申请退款总金额', '申请退款金额'],
]
const COUNT = '总交易单数'
const NEEDED = ['交易时间', '商户号', '微信订单号', '商户订单号', '交易状态']

/** Reads a trade bill (`ALL`, `SUCCESS` or `REFUND`) of one merchant number, and adds up what its last line states. */
export function createWechatpayBillReader(to: Pick<Recipient, 'mchid' | 'subMchids'>): BillReader {
  const [splitter, parser] = [createLineSplitter(BILL_LINE_CHARS_MAX), createBillParser()]
  const sums = new Map<string, bigint>(SUMMED.map(([, column]) => [column, 0n]))
  let [rows, unsure] = [0, 0]
  let stranger: string | undefined
  const titleCheck = createTitleCheck(NEEDED, parser.titles)

  const add = (row: BillRow): boolean => {
    const cells = SUMMED.map(([, column]): [string, number | undefined] => [column, e5OfYuan(row[column] || '0')])
    if (cells.some(([, e5]) => e5 === undefined)) return false
    for (const [column, e5 = 0] of cells) if (e5 !== 0) sums.set(column, (sums.get(column) ?? 0n) + BigInt(e5))
    return true
  }
  const unreadable = ({ number: line, text }: TextLine, reason: string): BillLine => ({
    ...{ kind: 'unreadable', line, reason, text: text.slice(0, UNREADABLE_CHARS_MAX) },
  })
  const read = (line: TextLine): BillLine[] => {
    const taken = parser.take(line)
    if (taken === undefined || titleCheck.isNone()) return []
    rows += 1
    if (taken.kind === 'unreadable' || !add(taken.row)) {
      unsure += 1
      if (taken.kind === 'unreadable')
        return [unreadable(line, line.isWhole ? 'another number of cells than titles' : 'too long')]
    }
    const statement = statementOf(taken.row, to)
    if (typeof statement !== 'string') return [{ kind: 'statement', line: line.number, statement }]
    if (statement === '特约商户号' && to.subMchids.size > 0) return [{ kind: 'other', line: line.number }]
    if (statement === '商户号' || statement === '特约商户号') stranger ??= statement
    return [unreadable(line, statement)]
  }
  const end = (): BillEnd => {
    const titles = parser.titles()
    if (!titleCheck.areThere())
      return {
        kind: 'refused',
        reason: 'not_a_bill',
        detail: `no trade bill of WeChat Pay: it lacks ${NEEDED.join(', ')}`,
      }
    if (stranger !== undefined)
      return { kind: 'refused', reason: 'wrong_recipient', detail: `${stranger} names another merchant` }
    const totals = parser.totals()
    const stated = totals && totalsOf(totals, rows - unsure, sums)
    if (stated === undefined)
      return { kind: 'refused', reason: 'incomplete', detail: 'its last two lines, the totals, are missing or cut' }
    return {
      ...{ kind: 'whole', rows, unsure, totals: stated, feesE5: sums.get('手续费') ?? 0n, account: null, fromMs: null },
      // A bill of refunds alone says when each was asked for, one of payments alone has no refunds' columns.
      lists: { payments: !titles.includes('退款申请时间'), refunds: titles.includes('微信退款单号') },
    }
  }
  return {
    push: (text) => {
      titleCheck.pushed(text)
      return splitter.push(text).flatMap(read)
    },
    isNone: titleCheck.isNone,
    end: () => ({ lines: splitter.end().flatMap(read), end: end() }),
  }
}

/** Undefined: one of them is no amount, or the count is missing. */
function totalsOf(row: BillRow, counted: number, sums: ReadonlyMap<string, bigint>): BillTotal[] | undefined {
  const count = e5OfYuan(row[COUNT] ?? '')
  if (count === undefined) return undefined
  const counts: BillTotal = { title: COUNT, kind: 'count', stated: BigInt(count), found: BigInt(counted) * 100_000n }
  const found: BillTotal[] = [counts]
  for (const [title, column] of SUMMED) {
    const text = row[title]
    if (text === undefined) continue
    const e5 = e5OfYuan(text)
    if (e5 === undefined) return undefined
    found.push({ title, kind: 'sum', stated: BigInt(e5), found: sums.get(column) ?? 0n })
  }
  return found
}
