import type { PaymentProvider, Story } from './stories.ts'

/**
 * What a provider's side can do wrong, or an attacker on purpose. `cut_off`: the sender vanishes within the body.
 * `hostile`: a body that is made to hurt a parser. `slow_head`: a request whose head never ends.
 */
export const DEFECTS = [
  'none',
  'wrong_signature',
  'stale_timestamp',
  'probe',
  'stranger',
  'retired_key',
  'cut_off',
  'hostile',
  'slow_head',
] as const
export type Defect = (typeof DEFECTS)[number]

/** What a callback tells, whatever its provider calls it. */
export type CallbackEvent =
  | 'payment'
  | 'payment_failed'
  | 'waiting'
  | 'finished'
  | 'closed'
  | 'refund'
  | 'refund_abnormal'
  | 'refund_closed'
  /** Stripe's sum of all that went back. */
  | 'refund_total'
  | 'dispute'

/** How the provider words it: with others in one payment (WeChat Pay v3), in another charset (Alipay). */
export type Form = 'plain' | 'combined' | 'gbk'

/** Copies of one callback sent at the same instant, each on a socket of its own. Times count from the run's start. */
export interface Burst {
  readonly atMs: number
  readonly copies: number
  readonly defect: Defect
  /** Byte by byte. */
  readonly isSlow: boolean
}

export interface PlannedRefund {
  /** The provider's own id. */
  readonly refundId: string
  /** The merchant's. */
  readonly outRefundNo: string
  readonly amountMinor: number
  /** With all that went back of this transaction before. */
  readonly totalMinor: number
  readonly atMs: number
  readonly state: 'succeeded' | 'abnormal' | 'closed'
}

/** A transaction as its provider knows it, at the end. */
export interface PlannedTransaction {
  readonly provider: PaymentProvider
  readonly form: Form
  readonly transactionId: string
  readonly outTradeNo: string
  readonly amountMinor: number
  readonly currency: string
  readonly atMs: number
  readonly state: 'paid' | 'closed'
  readonly refunds: readonly PlannedRefund[]
  readonly disputeId: string | null
  /** What else was paid by it; only in a combined one. */
  readonly others: readonly { outTradeNo: string; transactionId: string; amountMinor: number }[]
}

export interface PlannedCallback {
  readonly event: CallbackEvent
  readonly transaction: PlannedTransaction
  /** That it is about; null: none. */
  readonly refund: PlannedRefund | null
  /** The provider's id of the notification, the same at each delivery. */
  readonly messageId: string
  /** Not sent before the merchant's close was answered. */
  readonly afterClose: boolean
  readonly bursts: readonly Burst[]
}

export interface PlannedReport {
  readonly type: 'shipment_completed' | 'fulfillment_failed' | 'goods_returned'
  /** Since the payment, or the report before, was accepted. */
  readonly afterMs: number
}

export interface PlannedOrder {
  readonly merchant: string
  readonly outTradeNo: string
  readonly amountMinor: number
  readonly currency: string
  readonly story: Story
  /** None of its callbacks arrives, unless late. */
  readonly isSilent?: boolean
  /** From the start of the run; 0: before anything is sent; null: never. */
  readonly createAtMs: number | null
  /** The merchant closes it then; null: it does not. */
  readonly closeAtMs: number | null
  readonly callbacks: readonly PlannedCallback[]
  /** A worker's, one after the other. */
  readonly reports: readonly PlannedReport[]
}
