/** One row of `events` is one message in one topic, complete with the order's payload. */
export interface EventRow {
  readonly laneSeq: number
  /** Without the installation's prefix. */
  readonly topic: string
  readonly eventId: string
  /** `ship`, `deduct`, …; `anomaly_opened`, `anomaly_resolved`; `dead_letter`. */
  readonly kind: string
  readonly orderId: number | null
  readonly merchant: string | null
  /** out_trade_no: the message's key. */
  readonly key: string
  /** Of the order's events; null for notices. */
  readonly sequence: number | null
  readonly cause: string
  readonly amountMinor: number | null
  readonly currency: string | null
  readonly paymentRef: string | null
  readonly occurredAtMs: number
  /** When the callback reached the gateway; null where no callback caused it. */
  readonly receivedAtMs: number | null
  /** JSON of a notice, or of what a worker needs beyond the fields. */
  readonly attrs: string | null
  readonly traceparent: string | null
  /** The order's own, opaque; null for notices. */
  readonly payload: string | null
}
