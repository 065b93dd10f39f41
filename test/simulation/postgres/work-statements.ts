import { cellOf, find, rowsOf, type Waiting } from './cells.ts'
import type { Context, Rows } from './database.ts'
import { cellWhere, change, eventOf, remove } from './write-batch.ts'
import { insert, orderById } from './batch-statements.ts'
import { list, num, only, rowsIn, text } from './params.ts'
import { laneKey, orderKey, type EventRow, type WaitingRow } from './tables.ts'
import type { UnnumberedEvent } from '../../../src/store/event-columns.ts'

const ITEMS_MAX = 300
const RELEASE_ROWS_MAX = 1_000
const EVENTS_MAX = 1_000

export function readWork({ tables, tx, nowMs }: Context, values: readonly unknown[]): Rows {
  const [topic, lane] = [text(values[0]), num(only(values[1]))]
  const [heldMs, expiryMs] = list<number | null>(values[2])
  const rows: unknown[] = []
  const row = find(tables.lanes, laneKey(topic, lane), tx)
  if (row !== undefined) {
    const { nextSeq, appliedOffset, haltedReason, brakeVersion } = row
    rows.push(['lane', nextSeq, appliedOffset, haltedReason === null ? '' : 'halted', String(brakeVersion), null])
    if (row.settledSeq < nextSeq && row.updatedAtMs < nowMs - 60_000) rows.push(['unsettled', 0, 0, '', '', null])
  }
  const commands = [...rowsOf(tables.commands, tx)].filter((each) => each.lane === lane && each.status === 'pending')
  for (const { id, orderId, kind, body, actor } of commands.sort((a, b) => a.id - b.id).slice(0, ITEMS_MAX))
    rows.push(['command', id, orderId, kind, body, actor])
  for (const [kind, dueMs] of [
    ['held_limit', heldMs],
    ['expiry', expiryMs],
  ] as const) {
    if (dueMs === null || dueMs === undefined) continue
    const due = [...rowsOf(tables.timers, tx)].filter(
      (timer) => timer.lane === lane && timer.kind === kind && timer.dueAtMs <= dueMs,
    )
    for (const { id, orderId, ref } of due.sort((a, b) => a.dueAtMs - b.dueAtMs || a.id - b.id).slice(0, ITEMS_MAX))
      rows.push(['timer', id, orderId, kind, ref, null])
  }
  const waiting = [...rowsOf(tables.waiting, tx)].filter((event) => event.lane === lane)
  const released = [...rowsOf(tables.brakes, tx)].find(
    ({ id, isDone, isReleased }) => isReleased && !isDone && waiting.some(({ brakeId }) => brakeId === id),
  )
  if (released !== undefined) rows.push(['released', released.id, 0, '', '', null])
  return { rows }
}

export function openQueries({ tables, tx }: Context, values: readonly unknown[]): Rows {
  const ids = new Set(list<number>(values[0]))
  const open = [...rowsOf(tables.timers, tx)].filter(({ orderId, kind }) => kind === 'query' && ids.has(orderId))
  return { rows: open.map(({ orderId, ref }) => [orderId, ref]) }
}

export function stillWaiting({ tables, tx }: Context, values: readonly unknown[]): Rows {
  const [commands, timers] = [new Set(list<number>(values[0])), new Set(list<number>(values[1]))]
  const rows: unknown[] = []
  for (const { id, status } of rowsOf(tables.commands, tx))
    if (commands.has(id) && status === 'pending') rows.push(['command', id])
  for (const { id } of rowsOf(tables.timers, tx)) if (timers.has(id)) rows.push(['timer', id])
  return { rows }
}

const columns = (event: UnnumberedEvent) => [
  ...[event.topic, event.eventId, event.kind, event.orderId, event.merchant, event.key, event.sequence, event.cause],
  ...[event.amountMinor, event.currency, event.paymentRef, event.occurredAtMs, event.receivedAtMs, event.attrs],
  event.traceparent,
]

export function readEvents({ tables, tx }: Context, values: readonly unknown[]): Rows {
  const [lane, from] = [num(only(values[0])), num(only(values[1]))]
  const found = [...rowsOf(tables.events, tx)].filter((event: EventRow) => event.lane === lane && event.laneSeq >= from)
  found.sort((a, b) => a.laneSeq - b.laneSeq)
  return { rows: found.slice(0, EVENTS_MAX).map((event) => [...columns(event), event.laneSeq]) }
}

export function readPayloads({ tables, tx }: Context, values: readonly unknown[]): Rows {
  const ids = new Set(list<number>(values[0]))
  const found = [...rowsOf(tables.payloads, tx)].filter(({ orderId }) => ids.has(orderId))
  return { rows: found.map(({ orderId, payload }) => [orderId, payload]) }
}

export function readBrakes({ tables, tx }: Context, values: readonly unknown[]): Rows {
  const row = find(tables.lanes, laneKey(text(values[0]), num(values[1])), tx)
  if (row === undefined) return { rows: [] }
  const set = [...rowsOf(tables.brakes, tx)].filter(({ isDone, isReleased }) => !isDone && !isReleased)
  const rows = set.map((brake) => [row.brakeVersion, brake.id, brake.merchant, brake.outTradeNo, brake.eventType])
  return { rows: rows.length === 0 ? [[row.brakeVersion, null, null, null, null]] : rows }
}

export function keepWaiting(sql: string) {
  const read = rowsIn(sql)
  const laneAt = Number(/select \(\$(\d+)::int2\[\]\)\[1\]/.exec(sql)?.[1]) - 1
  return function* (context: Context, values: readonly unknown[]): Waiting<Rows> {
    const lane = num(only(values[laneAt]))
    for (const row of read(values)) {
      const id = context.nextId('waiting')
      const event: WaitingRow = { ...eventOf({ ...row, received_at: null }), id, lane, brakeId: num(row['brake_id']) }
      yield* insert(context, () => cellOf(context.tables.waiting, id), event)
      yield* countWaiting(context, event.orderId, 1)
    }
    return { rows: [] }
  }
}

function* countWaiting(context: Context, orderId: number | null, by: number): Waiting<void> {
  const order = orderId === null ? undefined : orderById(context, orderId)
  if (order === undefined) return
  const cell = context.tables.orders.cells.get(orderKey(order.merchant, order.outTradeNo))
  yield* change(context, cell, ({ waitingCount }) => ({ waitingCount: waitingCount + by }))
}

const isNotice = ({ sequence }: WaitingRow) => sequence === null

export function readBehind({ tables, tx }: Context, values: readonly unknown[]): Rows {
  const rows: unknown[] = []
  const all = [...rowsOf(tables.waiting, tx)].sort((a, b) => b.id - a.id)
  for (const id of list<number>(values[0]))
    for (const notice of [false, true]) {
      const last = all.find((event) => event.orderId === id && isNotice(event) === notice)
      if (last !== undefined) rows.push([id, notice, last.brakeId])
    }
  return { rows }
}

export function readReleased({ tables, tx }: Context, values: readonly unknown[]): Rows {
  const lane = num(only(values[0]))
  const brakes = new Map([...rowsOf(tables.brakes, tx)].map((brake) => [brake.id, brake]))
  const all = [...rowsOf(tables.waiting, tx)].sort((a, b) => a.id - b.id)
  const released = all.filter((event) => {
    const brake = brakes.get(event.brakeId)
    return event.lane === lane && brake?.isReleased === true && !brake.isDone
  })
  const behind = (event: WaitingRow) =>
    all.findLast(
      (other) =>
        other.orderId === event.orderId &&
        event.orderId !== null &&
        other.id < event.id &&
        isNotice(other) === isNotice(event) &&
        brakes.get(other.brakeId)?.isReleased === false,
    )?.brakeId ?? null
  return {
    rows: released
      .slice(0, RELEASE_ROWS_MAX)
      .map((event) => [...columns({ ...event, receivedAtMs: null }), event.id, event.brakeId, behind(event)]),
  }
}

export function* spendWaiting(context: Context, values: readonly unknown[]): Waiting<Rows> {
  const { tables } = context
  let gone = 0
  for (const wanted of list<number>(values[0])) {
    const cell = cellWhere(tables.waiting.cells, ({ id }) => id === wanted, context)
    const orderId = cell === undefined ? null : (find(tables.waiting, cell.key, context.tx)?.orderId ?? null)
    if (!(yield* remove(context, cell))) continue
    gone++
    yield* countWaiting(context, orderId, -1)
  }
  const brakeIds = list<number>(values[2])
  let moved = 0
  for (const [index, wanted] of list<number>(values[1]).entries()) {
    const cell = cellWhere(tables.waiting.cells, ({ id }) => id === wanted, context)
    if (yield* change(context, cell, () => ({ brakeId: num(brakeIds[index]) }))) moved++
  }
  return { rows: [[gone, moved]] }
}
