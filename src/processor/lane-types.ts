import type { DecideOptions } from '../orders/decision.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Callback } from '../schemas/callback.ts'
import type { DeadLetterReason } from '../store/dead-letter.ts'
import type { DeliveryOutcome } from '../store/delivery.ts'
import type { EventRow } from '../store/event-row.ts'

/** Where an incarnation of a lane stands; the lane puts what a step returned into the next one. */
export interface Position {
  /** The input topic as `lanes.topic` has it. */
  readonly topic: string
  readonly lane: number
  /** The offset to read from; everything below it is applied. */
  readonly next: number
  /** An event is emitted if and only if its lane_seq is below this. */
  readonly ledger: number
  readonly brakeVersion: number
  /** Some events that are emitted are to be derived again, and have their numbers; left out: none. */
  readonly hasImported?: boolean
  /** Names the log, if it is not the first that the lane reads. */
  readonly logId?: string | undefined
  /** The input topic's, as it was at the fence; empty or left out: not known. */
  readonly inputId?: string
}

export type CallbackOfOrder = Callback & { readonly outTradeNo: string }

/** A record after decoding; its identity fields are checked and bounded. */
export interface LaneRecord {
  readonly offset: number
  readonly timestampMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, Buffer>>
  /** W3C trace context that the record's events carry on. */
  readonly traceparent: string | null
  readonly content:
    | { readonly kind: 'callback'; readonly callback: CallbackOfOrder }
    /** `callback` where the record could be decoded: an unsupported kind, no order named. */
    | {
        readonly kind: 'dead_letter'
        readonly reason: DeadLetterReason
        readonly detail: string
        readonly callback?: Callback
      }
    /** Understood, without facts: it changes no order. A hint asks for a query, if its order is known. */
    | { readonly kind: 'noted'; readonly callback: Callback }
    /** Lies in a range that a person has skipped. */
    | { readonly kind: 'skipped' }
}

export interface ApplyOptions extends Omit<DecideOptions, 'now'> {
  readonly clock: Clock
}

/** What one Postgres transaction did. */
export interface Applied {
  readonly kind: 'applied'
  /** The position after it: `next` is the batch's end, or less when a flood cut the batch. */
  readonly next: number
  readonly brakeVersion: number
  /** This transaction's events have the numbers from `baseSeq` to below `nextSeq`. */
  readonly baseSeq: number
  readonly nextSeq: number
  /** In hand, without payload; `eventsToEmit` completes them, or reads all rows when older ones wait. */
  readonly events: readonly EventRow[]
  /** Orders of `events` that have a payload. */
  readonly payloadOrders: readonly number[]
  /** Deliveries by outcome, duplicates included; also those of records that were met before. */
  readonly outcomes: Readonly<Partial<Record<DeliveryOutcome, number>>>
  readonly newDeadLetters: readonly DeadLetterReason[]
  /** Hints that ask for nothing, as their order has as many questions open as it may. */
  readonly hintsLeftOut: number
  /** More than 20 dead letters in the lane's last 1,000 records: halt it (`flood`), after emitting. */
  readonly flooded: boolean
  /** Transactions that were rolled back and run again before this one. */
  readonly reruns: number
}

/** Nothing was written. The incarnation ends; fence and read everything again. */
export interface MustFence {
  readonly kind: 'fence'
  readonly reason: 'counter_behind_ledger' | 'applied_behind_next' | 'halted' | 'lane_row_missing' | 'guard'
}

/** A wake found nothing that it may do, and the lane's row as it should be. */
export interface NothingToDo {
  readonly kind: 'nothing'
  /** The lane's counter, which shows rows that another incarnation left unemitted. */
  readonly nextSeq: number
}
