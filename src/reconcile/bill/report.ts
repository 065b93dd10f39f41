import type { BillOf, BillResult } from '../../store/bill-runs.ts'
import type { BillCounts, BillFinding } from './finding.ts'
import type { BadBill } from './load-bill.ts'

/** Money in minor units of CNY, as text: a year's sum may pass 2^53. */
export interface BillSums {
  readonly rows: number
  readonly payments: number
  readonly paymentsMinor: string
  readonly refunds: number
  readonly refundsMinor: string
  /** In yuan, to five decimals. */
  readonly fees: string
  /** Rows about nothing of ours: other merchants of a partner, other kinds of business. */
  readonly others: number
}

export interface BillReport extends BillOf {
  /** Null: a dry run. */
  readonly run: number | null
  readonly filesSha256: string
  readonly result: BillResult
  readonly digest: string | null
  readonly sums: BillSums | null
  readonly counts: BillCounts
  /** What is known here and may stand in the bills of earlier days, which are not here. */
  readonly notJudged: number
  readonly undecided: readonly { readonly reason: BadBill['reason'] | 'accounts_missing'; readonly detail: string }[]
  readonly findings: readonly BillFinding[]
}
