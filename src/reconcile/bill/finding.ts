import type { BilledRow } from '../../store/bill-rows.ts'

export const BILL_FINDINGS = [
  'missing_here',
  'not_there',
  'amount_differs',
  'currency_differs',
  'status_differs',
  'refund_unsettled',
  'twice_there',
  'unreadable',
] as const
export type BillFindingKind = (typeof BILL_FINDINGS)[number]

/**
 * What is known about a finding beyond the bill: nothing was asked (`open`), the provider could not be asked
 * (`unconfirmed`), it said otherwise than its bill (`denied`), it said what is known here (`confirmed`), or it said what
 * is not, and that is on its way to the order's lane (`published`).
 */
export type FindingState = 'open' | 'unconfirmed' | 'denied' | 'confirmed' | 'published'

/** One side of a difference. */
export interface Side {
  readonly amountMinor: number | null
  readonly currency: string | null
  readonly status: string
  readonly atMs: number | null
}

export interface BillFinding {
  readonly finding: BillFindingKind
  readonly state: FindingState
  readonly what: 'payment' | 'refund' | null
  readonly outTradeNo: string | null
  readonly ref: string | null
  readonly paymentRef: string | null
  /** What to ask about a refund. */
  readonly askRef: string | null
  readonly there: Side | null
  readonly here: Side | null
  /** Of the bill; of several files the how-many-eth, from 0. */
  readonly file: number | null
  readonly line: number | null
  readonly detail: string
  /** Cause of its order's anomaly, where a person must look. */
  readonly anomaly?: string
}

export const sideOf = ({ amountMinor, currency, status, atMs }: BilledRow): Side => ({
  ...{ amountMinor, currency, status, atMs },
})

/** All of a finding but what asking came to: equal bills and equal books have equal lines. */
export const lineOf = (finding: BillFinding): string => JSON.stringify({ ...finding, state: undefined })

export type BillCounts = Record<BillFindingKind, number>
export const noCounts = (): BillCounts => ({
  ...{ missing_here: 0, not_there: 0, amount_differs: 0, currency_differs: 0 },
  ...{ status_differs: 0, refund_unsettled: 0, twice_there: 0, unreadable: 0 },
})
