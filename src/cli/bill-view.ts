import type { BillFinding, BillReport, BillSums, Side } from '../reconcile/bill/start.ts'
import { csv } from './csv.ts'
import { isoOf, listing, table, type Output } from './render.ts'

const ROWS_MAX = 100

/** A report, or what is kept of one. */
export type ShownBill = Omit<BillReport, 'findings'> & { readonly findings: readonly BillFinding[] }

export function showBill(bill: ShownBill): Output {
  const { run, provider, merchant, day, result, digest, sums, counts, notJudged, undecided, findings } = bill
  const said = { run, provider, merchant, date: day, result, digest, files_sha256: bill.filesSha256 }
  const found = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const shown = findings
    .slice(0, ROWS_MAX)
    .map((f) => [...[f.finding, f.state, f.outTradeNo, f.ref, sideOf(f.there), sideOf(f.here), placeOf(f), f.detail]])
  const head = ['finding', 'state', 'out_trade_no', 'reference', 'there', 'here', 'line', 'detail']
  const rest = found > shown.length ? `\n${found - shown.length} more: --output json or csv` : ''
  const rows = undecided.map(({ reason, detail }) => [reason, detail])
  return {
    json: {
      ...{ ...said, sums: sums && sumsOf(sums), counts, not_judged: notJudged, undecided },
      findings: findings.map(jsonOf),
    },
    text: [
      listing({ ...said, ...(sums && sumsOf(sums)), ...counts, not_judged: notJudged }),
      ...(shown.length > 0 ? [table(head, shown) + rest] : []),
      ...(rows.length > 0 ? [`Not decided:\n${table(['reason', 'detail'], rows)}`] : []),
    ].join('\n\n'),
    csv: csv(CSV_HEAD, findings.map(csvRow)),
    findings: result === 'findings',
    undecided: undecided.length > 0,
  }
}

const sumsOf = ({ rows, payments, paymentsMinor, refunds, refundsMinor, fees, others }: BillSums) => ({
  ...{ rows, payments, payments_minor: paymentsMinor, refunds, refunds_minor: refundsMinor, fees, others },
})

const jsonOf = ({
  finding,
  state,
  what,
  outTradeNo,
  ref,
  paymentRef,
  there,
  here,
  file,
  line,
  detail,
  anomaly,
}: BillFinding) => ({
  ...{ finding, state, what, out_trade_no: outTradeNo, reference: ref, payment_reference: paymentRef },
  ...{ there: there && jsonSide(there), here: here && jsonSide(here), file, line, detail, anomaly: anomaly ?? null },
})
const jsonSide = ({ amountMinor, currency, status, atMs }: Side) => ({
  ...{ amount_minor: amountMinor, currency, status, at: isoOf(atMs) },
})

const sideOf = (side: Side | null) =>
  side === null ? '' : [side.amountMinor, side.currency, side.status].filter((part) => part !== null).join(' ')
const placeOf = ({ file, line }: BillFinding) => (file === null || file === 0 ? line : `${file + 1}:${line ?? ''}`)

const CSV_HEAD = [
  ...['finding', 'state', 'what', 'out_trade_no', 'reference', 'payment_reference'],
  ...['there_amount_minor', 'there_currency', 'there_status', 'there_at'],
  ...['here_amount_minor', 'here_currency', 'here_status', 'here_at', 'file', 'line', 'detail', 'anomaly'],
]
const csvSide = (side: Side | null) =>
  side === null ? [null, null, null, null] : [side.amountMinor, side.currency, side.status, isoOf(side.atMs)]
const csvRow = (f: BillFinding) => [
  ...[f.finding, f.state, f.what, f.outTradeNo, f.ref, f.paymentRef, ...csvSide(f.there), ...csvSide(f.here)],
  ...[f.file, f.line, f.detail, f.anomaly ?? null],
]
