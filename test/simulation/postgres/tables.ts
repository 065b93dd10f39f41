import type { ClosedBy, FactOutcome, Fact, Status } from '../../../src/orders/model.ts'
import type { UnnumberedEvent } from '../../../src/store/event-columns.ts'
import { createTable, type Table } from './cells.ts'

export interface LaneRow {
  readonly topic: string
  readonly lane: number
  readonly startOffset: number
  readonly nextSeq: number
  readonly appliedOffset: number
  readonly previousOffset: number
  readonly settledSeq: number
  readonly brakeVersion: number
  readonly fences: number
  readonly isOwned: boolean
  readonly haltedReason: string | null
  readonly haltedDetail: string | null
  readonly floods: readonly number[]
  readonly ownerDeaths: number
  readonly suspectOffset: number | null
  readonly suspectDeaths: number
  readonly updatedAtMs: number
}
export interface OrderRow {
  readonly id: number
  readonly merchant: string
  readonly outTradeNo: string
  readonly lane: number
  readonly status: Status
  readonly amountMinor: number | null
  readonly currency: string | null
  readonly groupKey: string | null
  readonly bodyHash: Buffer | null
  readonly acceptedRef: string | null
  readonly paidAtMs: number | null
  readonly closedBy: ClosedBy | null
  readonly closedAtMs: number | null
  readonly expiresAtMs: number | null
  readonly version: number
  readonly heldCount: number
  readonly waitingCount: number
  readonly hasPayload: boolean
  readonly sequence: number
}
export interface FactRow extends Fact {
  readonly orderId: number
  readonly outcome: FactOutcome
  readonly lane: number
  readonly offset: number
}
export interface EventRow extends UnnumberedEvent {
  readonly lane: number
  readonly laneSeq: number
}
export interface WaitingRow extends UnnumberedEvent {
  readonly id: number
  readonly lane: number
  readonly brakeId: number
}
export interface TimerRow {
  readonly id: number
  readonly lane: number
  readonly orderId: number
  readonly kind: string
  readonly ref: string
  readonly dueAtMs: number
}
export interface CommandRow {
  readonly id: number
  readonly lane: number
  readonly orderId: number
  readonly kind: string
  readonly merchant: string | null
  readonly idempotencyKey: string | null
  readonly bodyHash: Buffer | null
  readonly body: string
  readonly actor: string | null
  readonly status: 'pending' | 'done' | 'failed'
  readonly result: string | null
  readonly createdAtMs: number
  readonly finishedAtMs: number | null
}
export interface AnomalyRow {
  readonly id: number
  readonly orderId: number
  readonly kind: string
  readonly cause: string
  readonly facts: string
  readonly owner: string | null
  readonly resolution: string | null
  readonly reason: string | null
  readonly resolvedBy: string | null
}
export interface DeliveryRow {
  readonly lane: number
  readonly offset: number
  readonly orderId: number | null
  readonly eventType: string | null
  readonly providerRef: string | null
  readonly outcome: string
}
export interface DeadLetterRow {
  readonly topic: string
  readonly lane: number
  readonly offset: number
  readonly reason: string
}
export interface BrakeRow {
  readonly id: number
  readonly merchant: string | null
  readonly outTradeNo: string | null
  readonly eventType: string | null
  readonly isTold: boolean
  readonly isReleased: boolean
  readonly isReleaseTold: boolean
  readonly isDone: boolean
}
export interface GroupRow {
  readonly merchant: string
  readonly groupKey: string
  readonly orderId: number | null
}

/** The tables that lanes and api touch. Keys are the tables' own, as text. */
export const createTables = () => ({
  lanes: createTable<LaneRow>('lanes'),
  /** By merchant and number; `orderKeys` finds it by id. */
  orders: createTable<OrderRow>('orders'),
  payloads: createTable<{ orderId: number; payload: string }>('order_payloads'),
  facts: createTable<FactRow>('facts'),
  deliveries: createTable<DeliveryRow>('deliveries'),
  events: createTable<EventRow>('events'),
  waiting: createTable<WaitingRow>('waiting_events'),
  timers: createTable<TimerRow>('timers'),
  commands: createTable<CommandRow>('commands'),
  anomalies: createTable<AnomalyRow>('anomalies'),
  deadLetters: createTable<DeadLetterRow>('dead_letters'),
  groups: createTable<GroupRow>('groups'),
  brakes: createTable<BrakeRow>('brakes'),
  brakeLanes: createTable<{ brakeId: number; lane: number; stopSeq: number; isReleased: boolean }>('brake_lanes'),
  actions: createTable<{ id: number; actor: string; action: string; reason: string }>('operator_actions'),
})
export type Tables = ReturnType<typeof createTables>
export type TableName = keyof Tables

export const orderKey = (merchant: string, outTradeNo: string) => `${merchant}\0${outTradeNo}`
export const factKey = (orderId: number, eventType: string, ref: string) => `${orderId}/${eventType}/${ref}`
export const laneKey = (topic: string, lane: number) => `${topic}/${lane}`
export const timerKey = (orderId: number, kind: string, ref: string) => `${orderId}/${kind}/${ref}`

/** All committed rows, to be put back later. */
export type Snapshot = ReadonlyMap<string, ReadonlyMap<string | number, unknown>>

export function takeSnapshot(tables: Tables): Snapshot {
  const all = new Map<string, Map<string | number, unknown>>()
  for (const [name, table] of Object.entries(tables) as [string, Table][]) {
    const rows = new Map<string | number, unknown>()
    for (const [key, cell] of table.cells) if (cell.committed !== undefined) rows.set(key, cell.committed)
    all.set(name, rows)
  }
  return all
}

/** To be called when no transaction is open. */
export function putBack(tables: Tables, snapshot: Snapshot): void {
  for (const [name, table] of Object.entries(tables) as [string, Table][]) {
    table.cells.clear()
    for (const [key, committed] of snapshot.get(name) ?? [])
      table.cells.set(key, { committed, pending: undefined, owner: undefined, waiting: [], table, key })
  }
}
