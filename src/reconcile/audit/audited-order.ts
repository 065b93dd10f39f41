import type { ClosedBy, Status, StoredFact } from '../../orders/model.ts'

export interface AuditedFact extends Omit<StoredFact, 'detail'> {
  readonly recordedAtMs: number
}
export interface AuditedAnomaly {
  readonly kind: string
  readonly cause: string
  readonly resolution: string | null
  readonly openedAtMs: number
  readonly resolvedAtMs: number | null
}
/** A row of `events`, or of those that wait for a brake. */
export interface AuditedEvent {
  readonly eventId: string
  readonly kind: string
  readonly topic: string
  readonly cause: string
  /** Null: a notice. */
  readonly sequence: number | null
  readonly amountMinor: number | null
  readonly currency: string | null
  readonly paymentRef: string | null
  /** Null: it waits. */
  readonly laneSeq: number | null
}

/** All that Postgres has of an order, read at one moment. */
export interface AuditedOrder {
  readonly id: number
  readonly lane: number
  readonly merchant: string
  readonly outTradeNo: string
  readonly status: Status
  readonly amountMinor: number | null
  readonly currency: string | null
  readonly acceptedRef: string | null
  readonly closedBy: ClosedBy | null
  readonly closedAtMs: number | null
  readonly createdAtMs: number
  /** Of its last event. */
  readonly sequence: number
  readonly facts: readonly AuditedFact[]
  readonly anomalies: readonly AuditedAnomaly[]
  readonly events: readonly AuditedEvent[]
}

/** A fact's identity within its order, which its events name as their cause. */
export const factCauseOf = ({ eventType, providerRef }: Pick<AuditedFact, 'eventType' | 'providerRef'>) =>
  `${eventType}/${providerRef}`

/** An answer by which the anomaly's payment moved the order. */
export const isAcceptance = ({ resolution }: AuditedAnomaly) =>
  resolution === 'accept_payment' || resolution === 'reopen'
