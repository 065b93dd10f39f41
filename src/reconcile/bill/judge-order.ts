import { addRefund, emptyTally, type RefundTally } from '../../orders/refund-tally.ts'
import type { BilledRow } from '../../store/bill-rows.ts'
import type { KnownFact, KnownOrder } from '../../store/bill-known.ts'
import { fingerprint } from '../../store/fingerprint.ts'
import { sideOf, type BillFinding, type BillFindingKind, type Side } from './finding.ts'

/**
 * What a bill's rows of one order say that is not known here, in the rows' order. Pure.
 * @param order undefined: no such order is known
 */
export function judgeOrder(rows: readonly BilledRow[], order: KnownOrder | undefined): BillFinding[] {
  const tallies = talliesOf(order?.facts ?? [])
  const met = new Set<string>()
  return rows.flatMap((row) => {
    const place = `${row.what} ${row.ref}`
    if (met.has(place)) return finding('twice_there', row, null, 'the bill has it on an earlier line, too')
    met.add(place)
    return row.what === 'payment' ? judgePayment(row, order) : judgeRefund(row, order, tallies)
  })
}

function judgePayment(row: BilledRow, order: KnownOrder | undefined): BillFinding[] {
  const known = find(order, 'payment_succeeded', row.ref)
  if (row.amountMinor === null) {
    const isUndone = known === undefined || order?.facts.some(({ paymentRef }) => paymentRef === row.ref) === true
    return isUndone ? [] : finding('status_differs', row, here(known), 'undone there, and paid here')
  }
  if (known !== undefined) return compare(row, known)
  if (isRemembered(row, order)) return []
  return finding('missing_here', row, null, whereIsIt(order))
}

function judgeRefund(row: BilledRow, order: KnownOrder | undefined, tallies: Tallies): BillFinding[] {
  const known = find(order, 'refund_succeeded', row.ref)
  const failed = order?.facts.find(
    ({ eventType, providerRef }) => eventType === 'refund_failed' && providerRef.startsWith(`${row.ref}/`),
  )
  if (row.amountMinor === null) {
    if (known !== undefined || failed !== undefined) return []
    return finding('refund_unsettled', row, null, 'it was not through when the bill was made, and is not known here')
  }
  if (known !== undefined) return compare(row, known)
  if (isRemembered(row, order)) return []
  if (failed !== undefined) return finding('status_differs', row, here(failed), 'through there, and failed here')
  // Alipay's notices tell what was refunded so far: the row may be in that.
  const { amountMinor, atMs: eventTimeMs, paymentRef } = row
  const tally = tallies(paymentRef)
  const grown = addRefund(tally, { amountMinor, amountKind: 'individual', eventTimeMs, paymentRef })
  if (grown === 0n) return []
  const lacking = grown < BigInt(amountMinor) ? `; ${String(grown)} of it are not in what was refunded here` : ''
  return finding('missing_here', row, null, whereIsIt(order) + lacking)
}

function compare(row: BilledRow, known: KnownFact): BillFinding[] {
  const about = (kind: BillFindingKind, detail: string) => finding(kind, row, here(known), detail)
  if (row.currency !== known.currency) return about('currency_differs', 'the same number, another currency')
  if (row.amountMinor !== known.amountMinor) return about('amount_differs', 'the same number, another amount')
  if (known.outcome !== 'held') return []
  const waitsFor = row.what === 'payment' ? 'its order was never created' : 'its payment is not known'
  return about('status_differs', `through there, and held here: ${waitsFor}`)
}

type Tallies = (paymentRef: string | null) => RefundTally

function talliesOf(facts: readonly KnownFact[]): Tallies {
  const tallies = new Map<string | null, RefundTally>()
  const of = (paymentRef: string | null) => {
    const tally = tallies.get(paymentRef) ?? emptyTally()
    tallies.set(paymentRef, tally)
    return tally
  }
  for (const fact of facts) if (fact.eventType === 'refund_succeeded') addRefund(of(fact.paymentRef), fact)
  return of
}

const find = (order: KnownOrder | undefined, kind: KnownFact['eventType'], ref: string) =>
  order?.facts.find(({ eventType, providerRef }) => eventType === kind && providerRef === ref)

/** Of an archived order whose month is gone, its fingerprints are left. */
function isRemembered(row: BilledRow, order: KnownOrder | undefined): boolean {
  if (order === undefined || order.fingerprints.size === 0 || row.amountMinor === null) return false
  const isPayment = row.what === 'payment'
  return order.fingerprints.has(
    fingerprint({
      ...{ eventType: isPayment ? 'payment_succeeded' : 'refund_succeeded', providerRef: row.ref },
      ...{ paymentRef: row.paymentRef, amountMinor: row.amountMinor, currency: row.currency ?? '' },
      ...{ amountKind: isPayment ? 'none' : 'individual', eventTimeMs: row.atMs, detail: null },
    }),
  )
}

function whereIsIt(order: KnownOrder | undefined): string {
  if (order === undefined) return 'no such order is known here'
  if (order.place === 'orders') return `its order is ${order.status}`
  return `its order is ${order.status} and archived${order.place === 'dropped' ? ', and its month is dropped' : ''}`
}

const here = ({ amountMinor, currency, eventType, outcome, eventTimeMs }: KnownFact): Side => ({
  ...{ amountMinor, currency, status: outcome === 'held' ? 'held' : eventType, atMs: eventTimeMs },
})

const finding = (kind: BillFindingKind, row: BilledRow, known: Side | null, detail: string): BillFinding[] => [
  {
    ...{ finding: kind, state: 'open', what: row.what, outTradeNo: row.outTradeNo, ref: row.ref },
    ...{ paymentRef: row.paymentRef, askRef: row.askRef, there: sideOf(row), here: known },
    ...{ file: row.file, line: row.line, detail },
  },
]
