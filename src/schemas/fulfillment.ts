/** One instruction to a worker, as it lies in the fulfillment topics (key: `outTradeNo`). */
export interface Fulfillment {
  /** Stable: the idempotency key for whatever it makes happen. */
  readonly eventId: string
  readonly kind: string
  readonly merchant: string
  readonly outTradeNo: string
  /** Of the order's events over all topics: 1, 2, 3… without gaps. */
  readonly sequence: number
  readonly lane: number
  readonly laneSeq: number
  readonly cause: string
  readonly amountMinor: number | null
  readonly currency: string | null
  readonly paymentRef: string | null
  readonly occurredAtMs: number
  readonly receivedAtMs: number | null
  /** JSON of what a worker needs beyond the fields. */
  readonly attrs: string | null
  /** What the order was created with: opaque to paidonce. */
  readonly payload: string | null
}
