import type { AmountKind, ClosedBy, FactKind, FactOutcome, Status } from '../../../src/orders/model.ts'
import { cellOf, find, lock, put, type Cell, type Waiting } from './cells.ts'
import { failure, type Context, type Rows } from './database.ts'
import { insert, orderById, unique } from './batch-statements.ts'
import { guardedUpdate } from './lane-statements.ts'
import { list, num, only, rowsIn } from './params.ts'
import { factKey, orderKey, timerKey, type EventRow, type LaneRow } from './tables.ts'

/** What a lane's transaction did, for the oracles. */
export interface LaneWrite {
  readonly kind: 'lane'
  readonly before: LaneRow
  readonly after: LaneRow
  /** The offsets of its batch; those below `before.appliedOffset` were applied before. */
  readonly next: number
  readonly end: number
  readonly spentTimerIds: readonly number[]
  readonly spentCommandIds: readonly number[]
  readonly finishedCommandIds: readonly number[]
}

type Row = Record<string, unknown>
const textIn = (row: Row, name: string) => row[name] as string
const numIn = (row: Row, name: string) => num(row[name])
const timerOf = (row: Row) => `${textIn(row, 'kind')}/${textIn(row, 'ref')}`
/** A text with a NUL, which no text column takes. */
const refuseNul = (value: string | null) => {
  if (value?.includes('\0') === true) throw failure('22021', 'invalid byte sequence for encoding "UTF8": 0x00')
}

/** JSON with an escaped NUL, which no jsonb takes. */
const refuseEscapedNul = (json: string) => {
  if (/(?<!\\)(?:\\\\)*\\u0000/.test(json)) throw failure('22P05', 'unsupported Unicode escape sequence')
}

/** The parts of D by the names that its text gives them. */
function partsOf(sql: string): ReadonlyMap<string, string> {
  const [, ...found] = sql.split(/(?:^with |\n\), )(?=\w+ as \()/)
  return new Map(found.map((part) => [/^(\w+) as/.exec(part)?.[1] ?? '', part]))
}
/** Where the batch begins and ends, as the lane's row is told. */
const rangeIn = (part: string) => {
  const value = String.raw`\(\$(\d+)::int8\[\]\)\[1\]`
  const [, end, next] = new RegExp(`owner_deaths = case when ${value} > ${value} then`).exec(part) ?? []
  if (end === undefined || next === undefined) throw new Error('write-batch does not say where it begins and ends')
  const at = (values: readonly unknown[], index: string) => num(only(values[Number(index) - 1]))
  return (values: readonly unknown[]) => ({ next: at(values, next), end: at(values, end) })
}
const idsIn = (part: string) => {
  const index = Number(/any\(\$(\d+)::int8\[\]\)/.exec(part)?.[1]) - 1
  return (values: readonly unknown[]) => list<number>(values[index])
}

/** D: the guarded update of the lane's row, and all that joins it. */
export function writeBatch(sql: string) {
  const parts = partsOf(sql)
  const part = (name: string): string => {
    const found = parts.get(name)
    if (found === undefined) throw new Error(`write-batch has no part ${name}`)
    return found
  }
  const guard = guardedUpdate(part('l'))
  const range = rangeIn(part('l'))
  const read = Object.fromEntries(
    [
      ...['event', 'fact', 'changed_fact', 'changed_order', 'delivery', 'opened_anomaly', 'resolved_anomaly'],
      ...['changed_group', 'new_timer', 'done_timer', 'finished_command', 'operator_action'],
    ].map((name) => [name, rowsIn(part(name))]),
  )
  const rows = (name: string, values: readonly unknown[]): Row[] => read[name]?.(values) ?? []
  const spentTimers = idsIn(part('spent_timer'))
  const spentCommands = idsIn(part('spent_command'))
  const archived = idsIn(part('archived_stub'))
  const isDeliveredOnce = part('delivery').includes('where d.kafka_offset >= l.previous_offset')
  const known = 16
  if (parts.size !== known) throw new Error(`write-batch has ${parts.size} parts, and ${known} are simulated`)

  return function* (context: Context, values: readonly unknown[]): Waiting<Rows> {
    const { tables, tx } = context
    // Parameters are read before anything is done.
    for (const row of rows('fact', values)) refuseNul(row['detail'] as string | null)
    // One statement: what it reads of other rows is as it was when it began.
    const updated = yield* guard(context, values)
    if (updated === undefined) return { rows: [] }
    const { before, after } = updated
    const { lane } = after
    for (const row of rows('opened_anomaly', values)) refuseEscapedNul(textIn(row, 'facts'))
    if (archived(values).length > 0) throw new Error('archived orders are not simulated')

    for (const [index, row] of rows('event', values).entries()) {
      const laneSeq = before.nextSeq + index
      const event: EventRow = { ...eventOf(row), receivedAtMs: row['received_at'] as number | null, lane, laneSeq }
      if (!(yield* insert(context, () => cellOf(tables.events, `${lane}/${laneSeq}`), event)))
        throw unique('events_pkey')
    }
    let facts = 0
    for (const row of rows('fact', values)) {
      const [orderId, type, ref] = [numIn(row, 'order_id'), textIn(row, 'event_type'), textIn(row, 'provider_ref')]
      const detail = row['detail'] as string | null
      const fact = {
        ...{ orderId, eventType: type as FactKind, providerRef: ref, paymentRef: row['payment_ref'] as string | null },
        ...{ amountMinor: numIn(row, 'amount_minor'), currency: textIn(row, 'currency'), detail, lane },
        amountKind: textIn(row, 'amount_kind') as AmountKind,
        eventTimeMs: numIn(row, 'event_time'),
        outcome: textIn(row, 'outcome') as FactOutcome,
        offset: numIn(row, 'kafka_offset'),
      }
      if (yield* insert(context, () => cellOf(tables.facts, factKey(orderId, type, ref)), fact)) facts++
    }
    for (const row of rows('changed_fact', values)) {
      const cell = tables.facts.cells.get(
        factKey(numIn(row, 'order_id'), textIn(row, 'event_type'), textIn(row, 'provider_ref')),
      )
      yield* change(context, cell, () => ({ outcome: textIn(row, 'outcome') as FactOutcome }))
    }
    let orders = 0
    for (const row of rows('changed_order', values)) {
      const order = orderById(context, numIn(row, 'id'))
      const cell = order && tables.orders.cells.get(orderKey(order.merchant, order.outTradeNo))
      const isThere = yield* change(context, cell, () => ({
        status: textIn(row, 'status') as Status,
        acceptedRef: row['accepted_ref'] as string | null,
        paidAtMs: row['paid_at'] as number | null,
        closedBy: row['closed_by'] as ClosedBy | null,
        closedAtMs: row['closed_at'] as number | null,
        version: numIn(row, 'version'),
        heldCount: numIn(row, 'held_count'),
        sequence: numIn(row, 'sequence'),
      }))
      if (isThere) orders++
    }
    for (const row of rows('delivery', values)) {
      const offset = numIn(row, 'kafka_offset')
      if (isDeliveredOnce && offset < before.appliedOffset) continue
      const delivery = {
        ...{ lane, offset, orderId: row['order_id'] as number | null, outcome: textIn(row, 'outcome') },
        ...{ eventType: row['event_type'] as string | null, providerRef: row['provider_ref'] as string | null },
      }
      yield* insert(context, () => cellOf(tables.deliveries, context.nextId('deliveries')), delivery)
    }
    for (const row of rows('opened_anomaly', values)) {
      const [orderId, kind, cause] = [numIn(row, 'order_id'), textIn(row, 'kind'), textIn(row, 'cause')]
      const anomaly = {
        ...{ id: context.nextId('anomalies'), orderId, kind, cause, facts: textIn(row, 'facts'), owner: null },
        ...{ resolution: row['resolution'] as string | null, reason: row['reason'] as string | null, resolvedBy: null },
      }
      const isNew = yield* insert(context, () => cellOf(tables.anomalies, `${orderId}/${kind}/${cause}`), anomaly)
      if (!isNew) throw unique('anomalies_order_id_kind_cause_key')
    }
    for (const row of rows('resolved_anomaly', values)) {
      const cell = cellWhere(tables.anomalies.cells, ({ id }) => id === numIn(row, 'id'), context)
      yield* change(context, cell, () => ({
        resolution: row['resolution'] as string | null,
        reason: row['reason'] as string | null,
        resolvedBy: row['by'] as string | null,
      }))
    }
    for (const row of rows('changed_group', values)) {
      const [merchant, groupKey] = [textIn(row, 'merchant'), textIn(row, 'group_key')]
      const cell = cellOf(tables.groups, orderKey(merchant, groupKey))
      yield* lock(cell, tx)
      put(cell, tx, { merchant, groupKey, orderId: row['order_id'] as number | null })
    }
    for (const row of rows('done_timer', values)) {
      const key = timerKey(numIn(row, 'order_id'), textIn(row, 'kind'), textIn(row, 'ref'))
      yield* remove(context, find(tables.timers, key, tx) && tables.timers.cells.get(key))
    }
    const byKey = (a: Row, b: Row) =>
      numIn(a, 'order_id') - numIn(b, 'order_id') || (timerOf(a) < timerOf(b) ? -1 : timerOf(a) > timerOf(b) ? 1 : 0)
    for (const row of rows('new_timer', values).sort(byKey)) {
      const [orderId, kind, ref] = [numIn(row, 'order_id'), textIn(row, 'kind'), textIn(row, 'ref')]
      const cell = cellOf(tables.timers, timerKey(orderId, kind, ref))
      yield* lock(cell, tx)
      const dueAtMs = numIn(row, 'due_at')
      const timer = cell.pending ?? { id: context.nextId('timers'), lane, orderId, kind, ref, dueAtMs }
      put(cell, tx, { ...timer, dueAtMs: Math.min(timer.dueAtMs, dueAtMs) })
    }
    for (const id of spentTimers(values))
      yield* remove(
        context,
        cellWhere(tables.timers.cells, (timer) => timer.id === id, context),
      )
    for (const row of rows('finished_command', values)) {
      const cell = cellWhere(tables.commands.cells, ({ id }) => id === numIn(row, 'id'), context)
      yield* change(context, cell, () => ({
        ...{ status: textIn(row, 'status') as 'done', result: textIn(row, 'result'), finishedAtMs: context.nowMs },
      }))
    }
    for (const row of rows('operator_action', values)) {
      const id = context.nextId('actions')
      const action = { id, actor: textIn(row, 'actor'), action: textIn(row, 'action'), reason: textIn(row, 'reason') }
      yield* insert(context, () => cellOf(tables.actions, id), action)
    }
    for (const id of spentCommands(values))
      yield* remove(
        context,
        cellWhere(tables.commands.cells, (command) => command.id === id, context),
      )
    const done: LaneWrite = {
      ...{ kind: 'lane', before, after, ...range(values) },
      spentTimerIds: spentTimers(values),
      spentCommandIds: spentCommands(values),
      finishedCommandIds: rows('finished_command', values).map(({ id }) => num(id)),
    }
    tx.writes.push(done)
    return { rows: [[before.nextSeq, after.floods.length, facts, orders]] }
  }
}

export function eventOf(row: Row): Omit<EventRow, 'lane' | 'laneSeq'> {
  const orderId = row['order_id'] as number | null
  return {
    ...{ topic: textIn(row, 'topic'), eventId: textIn(row, 'event_id'), kind: textIn(row, 'kind'), orderId },
    ...{ merchant: row['merchant'] as string | null, key: textIn(row, 'key'), cause: textIn(row, 'cause') },
    ...{ sequence: row['sequence'] as number | null, amountMinor: row['amount_minor'] as number | null },
    ...{ currency: row['currency'] as string | null, paymentRef: row['payment_ref'] as string | null },
    ...{ occurredAtMs: numIn(row, 'occurred_at'), receivedAtMs: null, attrs: row['attrs'] as string | null },
    traceparent: row['traceparent'] as string | null,
  }
}

export function cellWhere<R>(
  cells: ReadonlyMap<string | number, Cell<R>>,
  fits: (row: R) => boolean,
  { tx }: Pick<Context, 'tx'>,
): Cell<R> | undefined {
  for (const cell of cells.values()) {
    const row = cell.owner === tx ? cell.pending : cell.committed
    if (row !== undefined && fits(row)) return cell
  }
  return undefined
}

/** @returns false: there is no such row (any more) */
export function* change<R>(
  { tx }: Pick<Context, 'tx'>,
  cell: Cell<R> | undefined,
  to: (row: R) => Partial<R>,
): Waiting<boolean> {
  if (cell === undefined) return false
  yield* lock(cell, tx)
  if (cell.pending === undefined) return false
  put(cell, tx, { ...cell.pending, ...to(cell.pending) })
  return true
}

export function* remove<R>({ tx }: Pick<Context, 'tx'>, cell: Cell<R> | undefined): Waiting<boolean> {
  if (cell === undefined) return false
  yield* lock(cell, tx)
  const wasThere = cell.pending !== undefined
  put(cell, tx, undefined)
  return wasThere
}
