import type {
  AnomalyKind,
  EventKind,
  Fact,
  FactKind,
  FactOutcome,
  Group,
  NoticeKind,
  Order,
  Resolution,
  Status,
  StoredFact,
} from './model.ts'
import type { Policies } from './policies.ts'
import type { Routes } from './routes.ts'

/** An anomaly of the order, open or not: a second one with its kind and cause is never opened. */
export interface KnownAnomaly {
  readonly id: number
  readonly kind: AnomalyKind
  readonly cause: string
  /** Who works on it; nobody else may answer it then. */
  readonly owner: string | null
  /** How it was closed; null while it is open. */
  readonly resolution: string | null
  /** Who answered it; null while it is open, and where it was settled by itself. */
  readonly resolvedBy: string | null
}

/** All that the decision about one order reads; every part from statements issued after the order's lock. */
export interface OrderView {
  readonly order: Order
  /** Every fact of the order, in any order. */
  readonly facts: readonly StoredFact[]
  /** Every anomaly of the order, resolved ones too. */
  readonly anomalies: readonly KnownAnomaly[]
  /** Null: the order has no group, or no order of its group was ever paid. */
  readonly group: Group | null
}

/** One thing to decide, in the lane's order. */
export type Item =
  /** A delivered fact. `receivedAtMs`: when its callback reached the gateway. */
  | { readonly kind: 'fact'; readonly orderId: number; readonly fact: Fact; readonly receivedAtMs: number | null }
  /** The order appeared: try its held facts. (Every other item does so first, too.) */
  | { readonly kind: 'release'; readonly orderId: number }
  /** The merchant's close command. */
  | { readonly kind: 'close'; readonly orderId: number; readonly commandId: number }
  /** The expiry timer; that the clock passed it and that no backlog is left were checked by the caller. */
  | { readonly kind: 'expire'; readonly orderId: number; readonly timerId: number }
  /** A held fact reached its limit; `ref` is that of its timer: the fact's cause. */
  | { readonly kind: 'held_limit'; readonly orderId: number; readonly timerId: number; readonly ref: string }
  /** An operator's answer to an anomaly. */
  | {
      readonly kind: 'resolve'
      readonly orderId: number
      readonly commandId: number
      readonly anomalyId: number
      readonly resolution: Resolution
      readonly reason: string
      /** Who answers. */
      readonly actor: string
    }
  /** A timer or release of the order that Postgres refused: it becomes an anomaly, and its held facts stay as they are. */
  | { readonly kind: 'unprocessable'; readonly orderId: number; readonly cause: string; readonly detail: string }

/** Why a command changed nothing: a 409 for whoever sent it. */
export type Refusal =
  | { readonly reason: 'unknown_order' | 'already_paid' | 'already_refunded' | 'unknown_anomaly' }
  /** `by` null: it was settled by itself. */
  | { readonly reason: 'already_resolved'; readonly resolution: string; readonly by: string | null }
  /** Somebody else works on it. */
  | { readonly reason: 'claimed'; readonly owner: string }
  | { readonly reason: 'not_allowed'; readonly anomaly: AnomalyKind; readonly allowed: readonly Resolution[] }
  /** Another order of its group is paid. */
  | { readonly reason: 'group_is_paid'; readonly orderId: number }

export type Outcome =
  /** `duplicate`: the same fact again. `noted`: recorded, nothing follows. */
  | { readonly kind: 'applied' | 'noted' | 'held' | 'duplicate' }
  | { readonly kind: 'anomaly'; readonly anomaly: AnomalyKind }
  /** The same identity with another amount, currency or amount kind: not recorded as a fact. */
  | { readonly kind: 'conflict' }
  /** A command, timer or release ran, or found its work done already; `status` is the order's after it. */
  | { readonly kind: 'done'; readonly status: Status }
  | { readonly kind: 'refused'; readonly status: Status; readonly refusal: Refusal }

/** One message in one topic; the writer adds lane, number, key, and traceparent. */
export interface NewEvent {
  readonly orderId: number
  readonly merchant: string
  readonly outTradeNo: string
  readonly kind: EventKind | NoticeKind
  readonly topic: string
  readonly eventId: string
  /** Of the order; null for notices. */
  readonly sequence: number | null
  readonly cause: string
  readonly amountMinor: number | null
  readonly currency: string | null
  readonly paymentRef: string | null
  readonly occurredAtMs: number
  readonly receivedAtMs: number | null
  /** JSON; null where the fields say all. */
  readonly attrs: string | null
}

export interface OpenedAnomaly {
  readonly orderId: number
  readonly kind: AnomalyKind
  readonly cause: string
  /** JSON, an object: what a person needs to judge it. */
  readonly facts: string
  /** Not null: something later in the same batch resolved it already; the row is inserted so. */
  readonly resolution: string | null
  readonly reason: string | null
}

export interface ResolvedAnomaly {
  readonly id: number
  readonly orderId: number
  readonly kind: AnomalyKind
  readonly cause: string
  readonly resolution: string
  readonly reason: string | null
  /** Null: it was settled by itself. */
  readonly by: string | null
}

/** A timer is unique by these three; `ref` is empty for an expiry, the fact's cause for a held limit. */
export interface TimerKey {
  readonly orderId: number
  readonly kind: 'expiry' | 'held_limit'
  readonly ref: string
}

/** What a batch changes; each list in the order in which it was decided. Nothing appears twice in a list. */
export interface Decision {
  /** One per item, at the same index. */
  readonly outcomes: readonly Outcome[]
  /** New values of the orders that changed; nothing but these columns is to be written. */
  readonly orders: readonly Order[]
  readonly newFacts: readonly { readonly orderId: number; readonly fact: StoredFact }[]
  /** Held facts that are held no more. */
  readonly changedFacts: readonly {
    readonly orderId: number
    readonly eventType: FactKind
    readonly providerRef: string
    readonly outcome: FactOutcome
  }[]
  readonly events: readonly NewEvent[]
  readonly openedAnomalies: readonly OpenedAnomaly[]
  readonly resolvedAnomalies: readonly ResolvedAnomaly[]
  /** New values; insert or update. */
  readonly groups: readonly Group[]
  readonly newTimers: readonly (TimerKey & { readonly dueAtMs: number })[]
  /** To delete where they exist. */
  readonly doneTimers: readonly TimerKey[]
}

export interface DecideOptions {
  readonly now: Date
  readonly routes: Routes
  /** How long a fact may be held before it becomes an anomaly. */
  readonly heldLimitMs: number
  /** Left out: whatever is an anomaly waits for a person. */
  readonly policies?: Policies
}
