import type { Fact } from '../orders/model.ts'

export const BILL_PROVIDERS = ['wechatpay', 'alipay'] as const
export type BillProvider = (typeof BILL_PROVIDERS)[number]

/** What one row of a provider's bill says of an order, in one form for all providers. */
export interface BillStatement {
  readonly what: 'payment' | 'refund'
  readonly outTradeNo: string
  /** The fact's `providerRef`, also where the row proves none. */
  readonly ref: string
  /** The transaction that a refund acts on. */
  readonly paymentRef: string | null
  /** Null: it was under way, had failed or was undone when the bill was made. */
  readonly fact: Fact | null
  /** The provider's own word, for people. At most 64 characters. */
  readonly status: string
  /** What to ask about a refund, as a hint names it: `refund:<out_refund_no>`. Null: the row does not say. */
  readonly askRef: string | null
  readonly atMs: number
}

export type BillLine =
  | { readonly kind: 'statement'; readonly line: number; readonly statement: BillStatement }
  /** Nothing about a payment of ours: another merchant of our partner's bill, another kind of business. */
  | { readonly kind: 'other'; readonly line: number }
  /** `reason` names the column, or says what is wrong with the line. */
  | { readonly kind: 'unreadable'; readonly line: number; readonly reason: string; readonly text: string }

/** A count or sum that the bill states about itself, in 1/100,000 of its unit, and what its rows come to. */
export interface BillTotal {
  readonly title: string
  readonly kind: 'count' | 'sum'
  readonly stated: bigint
  readonly found: bigint
}

export type BillEnd =
  | {
      readonly kind: 'whole'
      readonly rows: number
      /** Rows whose cells could not be told apart: in no sum. */
      readonly unsure: number
      readonly totals: readonly BillTotal[]
      /** What the provider keeps, in 1/100,000 yuan. */
      readonly feesE5: bigint
      /** Whether it lists payments and refunds at all: there are bills of either alone. */
      readonly lists: { readonly payments: boolean; readonly refunds: boolean }
      /** Whose it is and when it begins, where it says so. */
      readonly account: string | null
      readonly fromMs: number | null
    }
  /** No bill, not to its end, or somebody else's. `detail` never holds a row. */
  | {
      readonly kind: 'refused'
      readonly reason: 'not_a_bill' | 'incomplete' | 'wrong_recipient'
      readonly detail: string
    }

/** Reads a bill piece by piece, however it is cut; what it holds does not grow with the bill. */
export interface BillReader {
  readonly push: (text: string) => BillLine[]
  /** True: whatever comes, it is no bill. */
  readonly isNone: () => boolean
  readonly end: () => { readonly lines: readonly BillLine[]; readonly end: BillEnd }
}

/** A name of goods may be long; a line beyond that is none of a bill. */
export const BILL_LINE_CHARS_MAX = 16_384
/** By then a bill has had its titles. */
export const BILL_HEAD_CHARS_MAX = 65_536
/** What is kept of a line that cannot be read. */
export const UNREADABLE_CHARS_MAX = 512
