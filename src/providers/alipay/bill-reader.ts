import {
  BILL_LINE_CHARS_MAX,
  UNREADABLE_CHARS_MAX,
  type BillEnd,
  type BillLine,
  type BillReader,
  type BillStatement,
  type BillTotal,
} from '../bill.ts'
import { e5OfYuan } from '../bill-sums.ts'
import { createTitleCheck } from '../bill-titles.ts'
import { createLineSplitter, type TextLine } from '../text-lines.ts'
import { factsOfBillRow, type BillRow } from './facts-of-bill.ts'
import { createBillParser, type StatedTotal } from './read-bill.ts'

const NEEDED = ['支付宝交易号', '商户订单号', '业务类型', '完成时间', '订单金额', '商家实收']
/** Alipay's account is the seller's number and four digits for its currency. */
const isOurs = (account: string, sellerIds: ReadonlySet<string>) => sellerIds.has(account.slice(0, 16))

/** Reads the details (业务明细) of one account's trade bill, and adds up what its last lines state. */
export function createAlipayBillReader({ sellerIds }: { readonly sellerIds: ReadonlySet<string> }): BillReader {
  const [splitter, parser] = [createLineSplitter(BILL_LINE_CHARS_MAX), createBillParser()]
  const found = { 交易: NOTHING(), 退款: NOTHING() }
  let [rows, unsure, feesE5] = [0, 0, 0n]
  const titleCheck = createTitleCheck(NEEDED, parser.titles)

  const add = (row: BillRow): boolean => {
    const kind = row['业务类型']
    const cells = ['商家实收', '商家优惠', '服务费'].map((title) => e5OfYuan(row[title] || '0'))
    const [received, discount, fee] = cells
    if (received === undefined || discount === undefined || fee === undefined) return false
    feesE5 -= BigInt(fee) // What the seller pays is negative there.
    if (kind !== '交易' && kind !== '退款') return true
    found[kind].count += 1
    found[kind].received += BigInt(received)
    found[kind].discount += BigInt(discount)
    return true
  }
  const read = (line: TextLine): BillLine[] => {
    const taken = parser.take(line)
    if (taken === undefined || titleCheck.isNone()) return []
    rows += 1
    const isAdded = taken.kind === 'row' && add(taken.row)
    if (!isAdded) unsure += 1
    const reason = line.isWhole ? 'another number of cells than titles' : 'too long'
    const statement = taken.kind === 'row' ? statementOf(taken.row) : reason
    if (statement === undefined) return [{ kind: 'other', line: line.number }]
    if (typeof statement !== 'string') return [{ kind: 'statement', line: line.number, statement }]
    const text = line.text.slice(0, UNREADABLE_CHARS_MAX)
    return [{ kind: 'unreadable', line: line.number, reason: statement, text }]
  }
  const end = (): BillEnd => {
    const comments = parser.comments()
    if (!titleCheck.areThere())
      return { kind: 'refused', reason: 'not_a_bill', detail: 'no details (业务明细) of a trade bill of Alipay' }
    if (comments === undefined)
      return { kind: 'refused', reason: 'incomplete', detail: 'its last lines, the totals (合计), are missing or cut' }
    const { account, fromMs, totals } = comments
    if (account === null || !isOurs(account, sellerIds))
      return { kind: 'refused', reason: 'wrong_recipient', detail: 'its account (账号) is none of sellerIds' }
    const stated = (['交易', '退款'] as const).flatMap((kind) => totalsOf(kind, totals[kind], found[kind]))
    const lists = { payments: true, refunds: true }
    return { kind: 'whole', rows, unsure, totals: stated, feesE5, lists, account: account.slice(0, 16), fromMs }
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

const NOTHING = () => ({ count: 0, received: 0n, discount: 0n })

function totalsOf(kind: string, stated: StatedTotal | undefined, found: ReturnType<typeof NOTHING>): BillTotal[] {
  if (stated === undefined) return []
  const sum = (title: string, text: string, of: bigint): BillTotal => ({
    ...{ title: `${kind}${title}`, kind: 'sum', stated: BigInt(e5OfYuan(text) ?? 0), found: of },
  })
  const count = BigInt(stated.count) * 100_000n
  return [
    { title: `${kind}合计`, kind: 'count', stated: count, found: BigInt(found.count) * 100_000n },
    sum('商家实收', stated.received, found.received),
    sum('商家优惠', stated.discount, found.discount),
  ]
}

/** What a row says, undefined if it is no business of ours, or the title of the column that is not as documented. */
function statementOf(row: BillRow): BillStatement | undefined | string {
  const read = factsOfBillRow(row)
  const kind = row['业务类型'] ?? ''
  if (typeof read === 'string') return kind === '交易' || kind === '退款' ? read : undefined
  const [fact] = read.facts
  if (fact === undefined) return undefined
  // A byte that is no GBK was replaced: two orders could seem to be one.
  if (read.outTradeNo.includes('\ufffd')) return '商户订单号'
  if (fact.providerRef.includes('\ufffd')) return '退款批次号/请求号'
  const isRefund = fact.eventType === 'refund_succeeded'
  return {
    what: isRefund ? 'refund' : 'payment',
    ...{ outTradeNo: read.outTradeNo, ref: fact.providerRef, paymentRef: fact.paymentRef, fact, status: kind },
    // A refund that was asked for without a number goes by the order's.
    askRef: isRefund ? `refund:${row['退款批次号/请求号'] || read.outTradeNo}` : null,
    atMs: fact.eventTimeMs,
  }
}
