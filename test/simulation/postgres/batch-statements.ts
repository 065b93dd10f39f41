import { cellOf, find, isChanged, lock, put, rowsOf, see, type Cell, type Waiting } from './cells.ts'
import { failure, type Context, type Rows } from './database.ts'
import { guardedLock } from './lane-statements.ts'
import { list, num, only, rowsIn, text } from './params.ts'
import { factKey, laneKey, orderKey, type FactRow, type GroupRow, type OrderRow } from './tables.ts'

/** Byte order of ASCII, as `collate "C"` has it. */
const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/**
 * Waits while somebody inserts, changes or deletes the row of the same key, as a unique index does, and not for one who
 * has only locked it. @returns true: the row is there by now
 */
export function* isTaken<Row>(cellOfKey: () => Cell<Row>, { tx }: Context): Waiting<boolean> {
  for (;;) {
    const cell = cellOfKey()
    if (!isChanged(cell, tx)) return see(cell, tx) !== undefined
    yield cell
  }
}

/** Inserts a row under a key that nobody has. @returns false: it was there */
export function* insert<Row>(context: Context, cellOfKey: () => Cell<Row>, row: Row): Waiting<boolean> {
  if (yield* isTaken(cellOfKey, context)) return false
  const cell = cellOfKey()
  yield* lock(cell, context.tx)
  put(cell, context.tx, row)
  return true
}

export const orderById = ({ tables, tx }: Context, id: number): OrderRow | undefined => {
  for (const row of rowsOf(tables.orders, tx)) if (row.id === id) return row
  return undefined
}

export const stub = (context: Context, merchant: string, outTradeNo: string, lane: number): OrderRow => ({
  ...{ id: context.nextId('orders'), merchant, outTradeNo, lane, status: 'awaited', amountMinor: null, currency: null },
  ...{ groupKey: null, bodyHash: null, acceptedRef: null, paidAtMs: null, closedBy: null, closedAtMs: null },
  ...{ expiresAtMs: null, version: 0, heldCount: 0, waitingCount: 0, hasPayload: false, sequence: 0 },
})

/** A */
export function* findFacts(context: Context, values: readonly unknown[]): Waiting<Rows> {
  const { tables, tx } = context
  const [merchants, numbers, types, refs] = values.slice(0, 4).map((value) => list<string>(value)) as [
    string[],
    string[],
    string[],
    string[],
  ]
  const [amounts, currencies, kinds] = [list(values[4]), list(values[5]), list(values[6])]
  const lane = num(only(values[7]))
  const ids: number[] = []
  const known: number[] = []
  const missing = new Map<string, readonly [merchant: string, outTradeNo: string]>()
  for (const [index, merchant] of merchants.entries()) {
    const outTradeNo = numbers[index] ?? ''
    const order = find(tables.orders, orderKey(merchant, outTradeNo), tx)
    ids.push(order?.id ?? 0)
    const type = types[index] as string | null
    if (order === undefined && type !== null) missing.set(orderKey(merchant, outTradeNo), [merchant, outTradeNo])
    if (order === undefined || type === null) continue
    const fact = find(tables.facts, factKey(order.id, type, refs[index] ?? ''), tx)
    const isSame =
      fact?.amountMinor === amounts[index] && fact?.currency === currencies[index] && fact?.amountKind === kinds[index]
    if (fact !== undefined && isSame) known.push(index + 1)
  }
  const stubs: unknown[] = []
  for (const [key, [merchant, outTradeNo]] of [...missing].sort(([a], [b]) => byText(a, b))) {
    const row = stub(context, merchant, outTradeNo, lane)
    if (yield* insert(context, () => cellOf(tables.orders, key), row)) stubs.push([row.id, merchant, outTradeNo])
  }
  const joined = (list: readonly number[]) => (list.length === 0 ? null : list.join())
  return { rows: [[joined(ids), joined(known), stubs.length === 0 ? null : stubs]] }
}

const orderResult = (row: OrderRow) => [
  ...[row.id, row.merchant, row.outTradeNo, row.status, row.amountMinor, row.currency, row.groupKey, row.acceptedRef],
  ...[row.paidAtMs, row.closedBy, row.closedAtMs, row.expiresAtMs, row.version, row.heldCount, row.sequence],
  ...[row.hasPayload, row.waitingCount],
]

/** B. Without its `for no key update` it would lock nothing here either. */
export function lockOrders(sql: string) {
  const isLocking = sql.includes('for no key update of o')
  return function* (context: Context, values: readonly unknown[]): Waiting<Rows> {
    const { tables, tx } = context
    const wanted = new Set(list(values[0]))
    const found = [...rowsOf(tables.orders, tx)].filter(({ id }) => wanted.has(id))
    found.sort((a, b) => byText(orderKey(a.merchant, a.outTradeNo), orderKey(b.merchant, b.outTradeNo)))
    const rows: unknown[] = []
    for (const { merchant, outTradeNo } of found) {
      const cell = tables.orders.cells.get(orderKey(merchant, outTradeNo))
      if (cell === undefined) continue
      if (isLocking) yield* lock(cell, tx)
      const row = see(cell, tx)
      if (row !== undefined) rows.push(orderResult(row))
    }
    return { rows }
  }
}

/** C, whose lock of the groups is read from its text as B's. */
export const readViews = (sql: string) => {
  const isLocking = sql.includes('for no key update of g')
  return (context: Context, values: readonly unknown[]) => readLockedViews(context, values, isLocking)
}

function* readLockedViews(context: Context, values: readonly unknown[], isLocking: boolean): Waiting<Rows> {
  const { tables, tx } = context
  const ids = new Set(list<number>(values[0]))
  const rows: unknown[] = []
  for (const fact of rowsOf(tables.facts, tx)) if (ids.has(fact.orderId)) rows.push(factResult(fact))
  for (const one of rowsOf(tables.anomalies, tx)) {
    if (!ids.has(one.orderId)) continue
    const { orderId, kind, cause, resolution, id, owner, resolvedBy } = one
    rows.push(['a', orderId, kind, cause, resolution, id, owner, resolvedBy, null, null, null])
  }
  const [merchants, groupKeys] = [list<string>(values[1]), list<string>(values[2])]
  const keys = merchants.map((merchant, index) => orderKey(merchant, groupKeys[index] ?? '')).sort(byText)
  for (const key of keys) {
    const cell = tables.groups.cells.get(key)
    if (cell === undefined || see(cell, tx) === undefined) continue
    if (isLocking) yield* lock(cell, tx)
    const row: GroupRow | undefined = see(cell, tx)
    if (row !== undefined) rows.push(['g', row.orderId, row.merchant, row.groupKey, ...Array<null>(7).fill(null)])
  }
  return { rows }
}

const factResult = (fact: FactRow) => [
  ...['f', fact.orderId, fact.eventType, fact.providerRef, fact.paymentRef, fact.amountMinor, fact.currency],
  ...[fact.amountKind, fact.eventTimeMs, fact.outcome, fact.detail],
]

export function keepDeadLetters(sql: string) {
  const guard = guardedLock(sql)
  const read = rowsIn(sql)
  return function* (context: Context, values: readonly unknown[]): Waiting<Rows> {
    const lane = yield* guard(context, values)
    if (lane === undefined) return { rows: [] }
    const kept: number[] = []
    for (const row of read(values)) {
      const [offset, reason] = [num(row['kafka_offset']), text(row['reason'])]
      const key = `${laneKey(lane.topic, lane.lane)}/${offset}`
      const letter = { topic: lane.topic, lane: lane.lane, offset, reason }
      if (yield* insert(context, () => cellOf(context.tables.deadLetters, key), letter)) kept.push(offset)
    }
    return { rows: [[lane.floods.join(), kept.length === 0 ? null : kept.join()]] }
  }
}

export const unique = (constraint: string) =>
  failure('23505', `duplicate key value violates unique constraint "${constraint}"`, constraint)
