import type { Fact, Resolution } from '../../../src/orders/model.ts'
import { partitionFor } from '../../../src/runtime/kafka/partition.ts'
import type { Callback } from '../../../src/schemas/callback.ts'
import type { LogRecord } from '../kafka/partition-log.ts'
import type { Table, Transaction } from '../postgres/cells.ts'
import {
  orderKey,
  type CommandRow,
  type LaneRow,
  type OrderRow,
  type Tables,
  type TimerRow,
} from '../postgres/tables.ts'
import type { LaneWrite } from '../postgres/write-batch.ts'
import { answer, close, open, type Expected, type Reference, type ReferenceOrder, type Work } from './reference.ts'
import { receive, releaseHeld } from './reference-fact.ts'
import { Violation } from './violation.ts'

export interface FoldWorld {
  readonly tables: Tables
  readonly partitions: number
  /** What lies in the input log. */
  readonly input: (lane: number, from: number, to: number) => readonly LogRecord[]
  readonly read: (value: Buffer | null) => object | undefined
  /** Whether it is kept as `killed_owner`. */
  readonly isBuried: (lane: number, offset: number, tx: Transaction) => boolean
}

/** What must follow from one committed transaction of a lane. */
export interface Followed {
  readonly events: readonly Expected[]
  /** Offsets of records that must be dead letters by now. */
  readonly letters: readonly number[]
  /** Of what is applied for the first time: an offset for each fact, or for a record without one. */
  readonly deliveries: readonly number[]
  readonly touched: ReadonlySet<string>
}

export function referenceOrder(reference: Reference, key: string): ReferenceOrder {
  const known = reference.orders.get(key)
  if (known !== undefined) return known
  const order: ReferenceOrder = {
    ...{ key, status: 'awaited', amountMinor: null, currency: null, groupKey: null, expiresAtMs: null },
    ...{ acceptedRef: null, closedBy: null, sequence: 0, facts: new Map(), anomalies: new Map() },
  }
  reference.orders.set(key, order)
  return order
}

/** An order was created. */
export function create(reference: Reference, row: OrderRow): void {
  const order = referenceOrder(reference, orderKey(row.merchant, row.outTradeNo))
  if (order.status !== 'awaited') throw new Violation('create', `${order.key} was created twice`)
  const { amountMinor, currency, expiresAtMs, merchant, groupKey } = row
  Object.assign(order, { status: 'pending', amountMinor, currency, expiresAtMs })
  order.groupKey = groupKey === null ? null : orderKey(merchant, groupKey)
}

/** As the processors are configured. */
export const EXPIRY_GRACE_MS = 1_000

/** Facts that Postgres cannot store: the record becomes a dead letter. */
const isPoison = ({ detail }: Fact) => detail?.includes('\0') === true

/** Why a record is a dead letter; undefined: it is none. */
export function letterOf(record: LogRecord, lane: number, { read, partitions }: FoldWorld): string | undefined {
  const callback = read(record.value) as Callback | undefined
  if (callback === undefined) return 'undecodable'
  if (callback.outTradeNo === null) return callback.instead === null ? 'unroutable' : undefined
  if (callback.facts.length === 0 && callback.instead === null) return 'unsupported'
  const isHome = record.key !== null && partitionFor(record.key, partitions) === lane
  if (record.key?.toString() !== callback.outTradeNo || !isHome) return 'misrouted'
  return callback.facts.some(isPoison) ? 'unprocessable' : undefined
}

/** Folds what a transaction has taken: records of the log in their order, or what was filed and due. */
export function fold(reference: Reference, tx: Transaction, write: LaneWrite, world: FoldWorld): Followed {
  const events: Expected[] = []
  const letters: number[] = []
  const deliveries: number[] = []
  const touched = new Set<string>()
  const workOf = (key: string): Work => {
    touched.add(key)
    return { reference, order: referenceOrder(reference, key), events }
  }
  const { lane } = write.after
  for (const record of recordsOf(write, world)) {
    // A record that was in flight when owners were killed is buried unseen; nobody else may be.
    const isBuried = world.isBuried(lane, record.offset, tx)
    const isLetter = isBuried || letterOf(record, lane, world) !== undefined
    const isFirst = record.offset >= write.before.appliedOffset
    const times = isLetter ? 1 : Math.max(1, (world.read(record.value) as Callback).facts.length)
    if (isFirst) deliveries.push(...Array<number>(times).fill(record.offset))
    if (isLetter) {
      letters.push(record.offset)
      continue
    }
    const { merchant, outTradeNo, facts } = world.read(record.value) as Callback
    if (outTradeNo !== null) for (const fact of facts) receive(workOf(orderKey(merchant, outTradeNo)), fact)
  }
  for (const task of tasksOf(tx, write, world.tables)) {
    if (task.kind === 'expiry') noBacklog(task, write.after, world)
    perform(workOf(task.order), task)
  }
  return { events, letters, deliveries, touched }
}

/**
 * Those that are applied, after those that come again, as when Kafka's part of their batch has failed: a plain duplicate
 * does nothing a second time, but another amount of a known fact looks at its order again, and what the order holds may
 * go by now, if it was created since.
 */
function recordsOf({ before, after, next, end }: LaneWrite, { input }: FoldWorld): LogRecord[] {
  const again = input(after.lane, next, Math.min(end, before.appliedOffset))
  return [...again, ...input(after.lane, before.appliedOffset, after.appliedOffset)]
}

/** What was in the log before the clock had passed the expiry must be applied before the order is closed. */
function noBacklog({ order, dueAtMs }: Task, { lane, appliedOffset }: LaneRow, { input, read }: FoldWorld): void {
  for (const { timestampMs, value, offset } of input(lane, appliedOffset, Infinity)) {
    const callback = read(value) as Callback | undefined
    const isAbout = callback?.outTradeNo != null && orderKey(callback.merchant, callback.outTradeNo) === order
    if (isAbout && timestampMs <= dueAtMs + EXPIRY_GRACE_MS)
      throw new Violation('expiry', `${order} was closed before record ${offset} was applied`)
  }
}

interface Task {
  readonly dueAtMs: number
  readonly order: string
  readonly kind: string
  readonly ref: string
  readonly anomaly: { readonly identity: string; readonly resolution: Resolution; readonly actor: string } | undefined
}

function perform(work: Work, { kind, ref, anomaly }: Task): void {
  releaseHeld(work)
  const { order } = work
  if (kind === 'close' && order.status === 'pending') close(work, 'merchant', 'close')
  if (kind === 'expiry' && order.status === 'pending') close(work, 'expiry', 'expire')
  if (kind === 'held_limit' && order.facts.get(ref)?.outcome === 'held')
    open(work, order.status === 'awaited' ? 'unknown_order' : 'refund_without_payment', ref)
  if (anomaly !== undefined) answer(work, anomaly.identity, anomaly.resolution, anomaly.actor)
}

/** Commands in the order in which they were filed, then limits, then expiries: as a lane takes them. */
function tasksOf(tx: Transaction, write: LaneWrite, tables: Tables): Task[] {
  const keyOf = (id: number) => {
    for (const { committed, pending } of tables.orders.cells.values()) {
      const row = committed ?? pending
      if (row?.id === id) return orderKey(row.merchant, row.outTradeNo)
    }
    throw new Violation('fold', `a task of order ${id}, which is not there`)
  }
  const before = <Row extends { id: number }>(table: Table<Row>, ids: readonly number[]): Row[] =>
    [...tx.cells]
      .filter((cell) => cell.table === (table as Table))
      .map(({ committed }) => committed as Row | undefined)
      .filter((row): row is Row => row !== undefined && ids.includes(row.id))
  const commands = before<CommandRow>(tables.commands, [...write.spentCommandIds, ...write.finishedCommandIds])
  const timers = before<TimerRow>(tables.timers, write.spentTimerIds)
  const anomalyOf = ({ kind, body, actor }: CommandRow): Task['anomaly'] => {
    if (kind !== 'resolve') return undefined
    const { anomalyId, resolution } = JSON.parse(body) as { anomalyId: number; resolution: Resolution }
    const cell = [...tables.anomalies.cells.values()].find((one) => one.committed?.id === anomalyId)
    if (cell?.committed === undefined) return undefined
    return { identity: `${cell.committed.kind}:${cell.committed.cause}`, resolution, actor: actor ?? '' }
  }
  const asTask = (
    row: { orderId: number; kind: string; dueAtMs?: number },
    ref: string,
    anomaly: Task['anomaly'],
  ): Task => ({
    ...{ order: keyOf(row.orderId), kind: row.kind, ref, anomaly, dueAtMs: row.dueAtMs ?? 0 },
  })
  const due = (kind: string) =>
    timers.filter((timer) => timer.kind === kind).sort((a, b) => a.dueAtMs - b.dueAtMs || a.id - b.id)
  return [
    ...commands.sort((a, b) => a.id - b.id).map((command) => asTask(command, '', anomalyOf(command))),
    ...[...due('held_limit'), ...due('expiry')].map((timer) => asTask(timer, timer.ref, undefined)),
  ]
}
