import type { Fact } from '../orders/model.ts'

/** Where a callback came from: whatever is learnt about an order enters through the one input topic, in this form. */
export type Source = 'callback' | 'query' | 'bill' | 'worker' | 'replay'

/** Why a message that we understand has no facts. */
export type Instead =
  /** It changes nothing. */
  | { readonly kind: 'no_effect'; readonly ref: null }
  /** Not proven: only a reason to ask the provider about `ref`, as `refund:<out_refund_no>`. At most 256 bytes. */
  | { readonly kind: 'hint'; readonly ref: string }

/**
 * One verified message about one order, as it lies in `payments.callback.v1` (key: `outTradeNo`).
 * Neither facts nor `instead`: a message of a kind that is not mapped; it is kept as a dead letter `unsupported`, or as
 * `unroutable` if it names no order either.
 */
export interface Callback {
  readonly merchant: string
  /** Null: the verified message names no order; unless `instead` says that none is needed, it is `unroutable`. */
  readonly outTradeNo: string | null
  readonly provider: string
  readonly source: Source
  /** The provider's own name of the message's kind, for people: `TRANSACTION.SUCCESS`, `TRADE_SUCCESS`. */
  readonly messageType: string
  /** The provider's id of the message, for tracing only: never an identity. */
  readonly messageId: string
  readonly receivedAtMs: number
  readonly facts: readonly Fact[]
  /** Null with facts, and in records older than this field. */
  readonly instead: Instead | null
  /** As it arrived, for re-verification. */
  readonly rawBody: Buffer
  /** Only the headers that the signature needs; lower-case names. */
  readonly rawHeaders: Readonly<Record<string, string>>
}
