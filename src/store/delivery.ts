import type { FactKind } from '../orders/model.ts'

export const DELIVERY_OUTCOMES = [
  'applied',
  'noted',
  'held',
  'anomaly',
  'duplicate',
  'conflict',
  'dead_letter',
  'skipped',
  'archived',
] as const
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number]

/** What arrived, for people: one per fact of a record, or one for a record without facts. */
export interface Delivery {
  readonly offset: number
  /** The record's Kafka timestamp: its day is the same whenever the batch runs again. */
  readonly recordTimeMs: number
  /** Null: no order is known or named. */
  readonly orderId: number | null
  readonly provider: string | null
  readonly source: string | null
  readonly eventType: FactKind | null
  readonly providerRef: string | null
  readonly outcome: DeliveryOutcome
  readonly receivedAtMs: number
  /** The replay that brought it, which learns from here what became of it. */
  readonly replayId: number | null
}
