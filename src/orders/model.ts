/** The vocabulary of an order's life (docs/order-states.md). Pure types: no I/O and no clock in this folder. */

export const STATUSES = ['awaited', 'pending', 'paid', 'shipped', 'closed', 'refunded'] as const
export type Status = (typeof STATUSES)[number]

export const FACT_KINDS = [
  'payment_succeeded',
  'payment_failed',
  'refund_succeeded',
  'refund_failed',
  'disputed',
  'provider_closed',
  'shipment_completed',
  'fulfillment_failed',
  'goods_returned',
  'bill_differs',
] as const
export type FactKind = (typeof FACT_KINDS)[number]

/** How a fact's amount counts: refunds add up (`individual`) or replace one another (`cumulative`: Alipay, Stripe). */
export const AMOUNT_KINDS = ['none', 'individual', 'cumulative'] as const
export type AmountKind = (typeof AMOUNT_KINDS)[number]

/**
 * Something learnt about an order. Its identity is (order, eventType, providerRef); no time is part of it, as one fact
 * has different times in a callback, a query and a bill.
 */
export interface Fact {
  readonly eventType: FactKind
  /**
   * Prefixed by its provider: `wechatpay:4200…`, `alipay:2026…`, `worker:<webhook-id>`. At most 256 bytes, no NUL. One
   * refund known as its own amount and as a cumulative figure is two facts, so their references must differ.
   */
  readonly providerRef: string
  /** The transaction that a refund or dispute acts on, prefixed alike; null for every other kind. */
  readonly paymentRef: string | null
  /** Integer in minor units, 0 to `AMOUNT_MINOR_MAX`; 0 where the kind is `none` and the fact is no payment. */
  readonly amountMinor: number
  /** ISO 4217, upper case; empty where the fact has no amount. */
  readonly currency: string
  readonly amountKind: AmountKind
  /** When it happened at the provider, in milliseconds since 1970. */
  readonly eventTimeMs: number
  /** What a person or worker may want to read: a tracking number, a reason. At most 1,024 characters. */
  readonly detail: string | null
}

export const FACT_OUTCOMES = ['held', 'applied', 'noted', 'anomaly'] as const
export type FactOutcome = (typeof FACT_OUTCOMES)[number]

export interface StoredFact extends Fact {
  readonly outcome: FactOutcome
}

export type ClosedBy = 'merchant' | 'expiry' | 'provider'

export interface Order {
  readonly id: number
  readonly merchant: string
  readonly outTradeNo: string
  readonly status: Status
  /** Null while the order is `awaited`: only its callbacks are known. */
  readonly amountMinor: number | null
  readonly currency: string | null
  /** Several out_trade_no of one purchase share it: at most one of them is paid. */
  readonly groupKey: string | null
  /** `providerRef` of the payment that moved the order. */
  readonly acceptedRef: string | null
  readonly paidAtMs: number | null
  readonly closedBy: ClosedBy | null
  readonly closedAtMs: number | null
  readonly expiresAtMs: number | null
  /** Raised by every stored fact and every change. */
  readonly version: number
  readonly heldCount: number
  /** The number of the order's last event; events count 1, 2, 3… without gaps. */
  readonly sequence: number
}

/** Which order of a group is paid. `orderId` null: nobody yet, or a full refund freed it. */
export interface Group {
  readonly merchant: string
  readonly groupKey: string
  readonly orderId: number | null
}

export const EVENT_KINDS = [
  'ship',
  'cancel',
  'return',
  'deduct',
  'restore',
  'unreserve',
  'grant',
  'revoke',
  'refund',
] as const
export type EventKind = (typeof EVENT_KINDS)[number]

/** Events about anomalies: they carry no sequence. */
export type NoticeKind = 'anomaly_opened' | 'anomaly_resolved'

/** What an operator may answer to an anomaly; its kind says which of them. */
export const RESOLUTIONS = ['accept_payment', 'refund_outside', 'reopen', 'ignore'] as const
export type Resolution = (typeof RESOLUTIONS)[number]

export const ANOMALY_KINDS = [
  'double_payment',
  'paid_after_close',
  'paid_after_refund',
  'closed_after_payment',
  'amount_mismatch',
  'conflicting_fact',
  'unknown_order',
  'refund_without_payment',
  'refund_failed',
  'refund_of_unaccepted_payment',
  'over_refund',
  'disputed',
  'fulfillment_failed',
  'bill_differs',
  'shipped_unpaid',
  'shipped_closed',
  'shipped_refunded',
  'unprocessable',
] as const
export type AnomalyKind = (typeof ANOMALY_KINDS)[number]
