import { cellOf, find, lock, put, type Waiting } from './cells.ts'
import type { Context, Rows } from './database.ts'
import { insert, orderById } from './batch-statements.ts'
import { list, text } from './params.ts'
import { orderKey, timerKey, type CommandRow, type OrderRow } from './tables.ts'

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

function* addTimer(context: Context, { lane, id: orderId, expiresAtMs }: OrderRow): Waiting<void> {
  const key = timerKey(orderId, 'expiry', '')
  const timer = { id: context.nextId('timers'), lane, orderId, kind: 'expiry', ref: '', dueAtMs: expiresAtMs ?? 0 }
  yield* insert(context, () => cellOf(context.tables.timers, key), timer)
}
function* addPayload(context: Context, orderId: number, payload: string | null): Waiting<void> {
  if (payload === null) return
  yield* insert(context, () => cellOf(context.tables.payloads, orderId), { orderId, payload })
}
function* addGroup(context: Context, merchant: string, groupKey: string | null): Waiting<void> {
  if (groupKey === null) return
  const row = { merchant, groupKey, orderId: null }
  yield* insert(context, () => cellOf(context.tables.groups, orderKey(merchant, groupKey)), row)
}

export function* insertOrders(context: Context, values: readonly unknown[]): Waiting<Rows> {
  const { tables } = context
  const columns = values.map((value) => list(value))
  const given = (columns[0] ?? []).map((merchant, index) => {
    const [, number, lane, amountMinor, currency, groupKey, bodyHash, expiresAtMs, payload] = columns.map(
      (c) => c[index],
    )
    return {
      ...{ merchant: text(merchant), outTradeNo: text(number), lane: Number(lane), index },
      ...{ amountMinor: Number(amountMinor), currency: text(currency), groupKey: groupKey as string | null },
      ...{ bodyHash: bodyHash as Buffer, expiresAtMs: Number(expiresAtMs), payload: payload as string | null },
    }
  })
  const rows: unknown[] = []
  const made: { readonly row: OrderRow; readonly payload: string | null }[] = []
  for (const one of given.toSorted((a, b) =>
    byText(orderKey(a.merchant, a.outTradeNo), orderKey(b.merchant, b.outTradeNo)),
  )) {
    const { index, payload, ...terms } = one
    const row: OrderRow = {
      ...{ ...terms, id: context.nextId('orders'), status: 'pending', acceptedRef: null, paidAtMs: null },
      ...{ closedBy: null, closedAtMs: null, version: 0, heldCount: 0, waitingCount: 0, sequence: 0 },
      hasPayload: payload !== null,
    }
    if (!(yield* insert(context, () => cellOf(tables.orders, orderKey(row.merchant, row.outTradeNo)), row))) continue
    made.push({ row, payload })
    rows.push([index + 1, row.id])
  }
  for (const { row, payload } of made) {
    yield* addGroup(context, row.merchant, row.groupKey)
    yield* addTimer(context, row)
    yield* addPayload(context, row.id, payload)
  }
  if (made.length > 0) context.tx.writes.push({ kind: 'orders', rows: made.map(({ row }) => row) })
  return { rows }
}

export function findTerms({ tables, tx }: Context, values: readonly unknown[]): Rows {
  const [merchants, numbers] = [list<string>(values[0]), list<string>(values[1])]
  return {
    rows: merchants.map((merchant, index) => {
      const row = find(tables.orders, orderKey(merchant, numbers[index] ?? ''), tx)
      const payload = row === undefined ? null : (find(tables.payloads, row.id, tx)?.payload ?? null)
      const { id = null, status = null, bodyHash = null, amountMinor = null, currency = null } = row ?? {}
      const hash = bodyHash === null ? null : bodyHash.toString('hex')
      const [expires, group] = [row?.expiresAtMs ?? null, row?.groupKey ?? null]
      return [index + 1, id, status, hash, amountMinor, currency, expires, group, payload, false]
    }),
  }
}

export function* completeStubs(context: Context, values: readonly unknown[]): Waiting<Rows> {
  const { tables } = context
  const columns = values.map((value) => list(value))
  const rows: unknown[] = []
  const turned: OrderRow[] = []
  for (const [index, id] of (columns[0] ?? []).entries()) {
    const [, amountMinor, currency, groupKey, bodyHash, expiresAtMs, payload] = columns.map((column) => column[index])
    const seen = orderById(context, Number(id))
    if (seen?.status !== 'awaited') continue
    const cell = cellOf(tables.orders, orderKey(seen.merchant, seen.outTradeNo))
    yield* lock(cell, context.tx)
    if (cell.pending?.status !== 'awaited') continue
    const row: OrderRow = {
      ...cell.pending,
      ...{
        status: 'pending',
        amountMinor: Number(amountMinor),
        currency: text(currency),
        bodyHash: bodyHash as Buffer,
      },
      ...{ groupKey: groupKey as string | null, expiresAtMs: Number(expiresAtMs), hasPayload: payload !== null },
      version: cell.pending.version + 1,
    }
    put(cell, context.tx, row)
    yield* addGroup(context, row.merchant, row.groupKey)
    yield* addTimer(context, row)
    yield* addPayload(context, row.id, payload as string | null)
    yield* addCommand(context, { lane: row.lane, orderId: row.id, kind: 'wake' })
    turned.push(row)
    rows.push([row.lane])
  }
  if (turned.length > 0) context.tx.writes.push({ kind: 'orders', rows: turned })
  return { rows }
}

function* addCommand(
  context: Context,
  given: Pick<CommandRow, 'lane' | 'orderId' | 'kind'> & Partial<CommandRow>,
): Waiting<boolean> {
  const id = context.nextId('commands')
  const key = given.idempotencyKey == null ? `#${id}` : orderKey(given.merchant ?? '', given.idempotencyKey)
  return yield* insert(context, () => cellOf(context.tables.commands, key), {
    ...{
      merchant: null,
      idempotencyKey: null,
      bodyHash: null,
      body: '{}',
      actor: null,
      status: 'pending',
      result: null,
    },
    ...{ createdAtMs: context.nowMs, finishedAtMs: null, id },
    ...given,
  })
}

export function* fileCommand(context: Context, values: readonly unknown[]): Waiting<Rows> {
  const [merchant, outTradeNo, kind, idempotencyKey, bodyHash, body, actor] = values as [
    string,
    string,
    string,
    string,
    Buffer,
    string,
    string,
  ]
  const order = find(context.tables.orders, orderKey(merchant, outTradeNo), context.tx)
  if (order === undefined) return { rows: [] }
  const { lane, id: orderId } = order
  const given = { lane, orderId, kind, merchant, idempotencyKey, bodyHash, body, actor }
  return { rows: (yield* addCommand(context, given)) ? [[lane]] : [] }
}

export function findCommandByKey(context: Context, values: readonly unknown[]): Rows {
  const row = find(context.tables.commands, orderKey(text(values[0]), text(values[1])), context.tx)
  const order = row && orderById(context, row.orderId)
  if (row === undefined || order === undefined) return { rows: [] }
  const { id, kind, status, result, createdAtMs, finishedAtMs } = row
  const known: unknown = result === null ? null : JSON.parse(result)
  const hash = row.bodyHash?.toString('hex') ?? null
  return { rows: [[hash, id, kind, order.merchant, order.outTradeNo, status, known, createdAtMs, finishedAtMs]] }
}

/** Of a command that operators give: only that it happened matters here. */
export function* noteAction(context: Context, values: readonly unknown[]): Waiting<Rows> {
  const id = context.nextId('actions')
  const row = { id, actor: text(values[0]), action: text(values[1]), reason: text(values[3]) }
  yield* insert(context, () => cellOf(context.tables.actions, id), row)
  return { rows: [] }
}
