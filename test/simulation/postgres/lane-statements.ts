import { cellOf, find, lock, put, rowsOf, type Waiting } from './cells.ts'
import { conditionsIn, readLaneUpdate } from './lane-update.ts'
import type { Context, Rows } from './database.ts'
import { laneKey, type LaneRow } from './tables.ts'
import { num, text } from './params.ts'

export const laneResult = (row: LaneRow) => ({
  topic: row.topic,
  lane: row.lane,
  start_offset: row.startOffset,
  next_seq: row.nextSeq,
  applied_offset: row.appliedOffset,
  settled_seq: row.settledSeq,
  brake_version: row.brakeVersion,
  fences: row.fences,
  halted_reason: row.haltedReason,
  halted_detail: row.haltedDetail,
  halted_at_ms: row.haltedReason === null ? null : 0,
  dead_letter_offsets: row.floods,
  skips: [],
  owner_deaths: row.ownerDeaths,
  suspect_offset: row.suspectOffset,
  suspect_deaths: row.suspectDeaths,
  has_imported: false, // No history tells a lost ledger from the output topics.
  log_id: null,
  updated_at_ms: row.updatedAtMs,
})

/** Updates one lane's row, if it is there and still fits once its lock is held. */
export function* updateLane(
  { tables, tx, nowMs }: Context,
  key: string,
  fits: (row: LaneRow) => boolean,
  change: (row: LaneRow) => Partial<LaneRow>,
): Waiting<LaneRow | undefined> {
  const cell = tables.lanes.cells.get(key)
  const seen = find(tables.lanes, key, tx)
  if (cell === undefined || seen === undefined || !fits(seen)) return undefined
  yield* lock(cell, tx)
  const row = cell.pending
  if (row === undefined || !fits(row)) return undefined
  const changed = { ...row, updatedAtMs: nowMs, ...change(row) }
  put(cell, tx, changed)
  return changed
}

export function* countFence(context: Context, values: readonly unknown[]): Waiting<Rows> {
  const { tables, tx, nowMs } = context
  const [topic, lane, start, before] = [text(values[0]), num(values[1]), num(values[2]), num(values[3])]
  const wasAlone = values[4] === true
  const cell = cellOf(tables.lanes, laneKey(topic, lane))
  yield* lock(cell, tx)
  const row = cell.pending
  if (row === undefined) {
    const fresh: LaneRow = {
      ...{ topic, lane, startOffset: start, nextSeq: 0, appliedOffset: start, previousOffset: 0, settledSeq: 0 },
      ...{ brakeVersion: 0, fences: 1, isOwned: true, haltedReason: null, haltedDetail: null, floods: [] },
      ...{ ownerDeaths: 0, suspectOffset: null, suspectDeaths: 0, updatedAtMs: nowMs },
    }
    put(cell, tx, fresh)
    return { rows: [laneResult(fresh)] }
  }
  const died = row.isOwned && row.fences !== before ? 1 : 0
  const cameBack = before >= 0 && row.fences > before ? 1 : 0
  const changed: LaneRow = {
    ...row,
    fences: row.fences + 1,
    isOwned: true,
    updatedAtMs: nowMs,
    ownerDeaths: Math.max(0, row.ownerDeaths + died - cameBack),
    suspectDeaths: row.suspectDeaths - (wasAlone && row.suspectDeaths > 0 ? 1 : 0),
  }
  put(cell, tx, changed)
  return { rows: [laneResult(changed)] }
}

const keyIn = (values: readonly unknown[]) => laneKey(text(values[0]), num(values[1]))

export function* haltLane(context: Context, values: readonly unknown[]): Waiting<Rows> {
  const change = () => ({ haltedReason: text(values[2]), haltedDetail: text(values[3]) })
  yield* updateLane(context, keyIn(values), (row) => row.haltedReason === null, change)
  return { rows: [] }
}
export function* resumeLane(context: Context, values: readonly unknown[]): Waiting<Rows> {
  yield* updateLane(
    context,
    keyIn(values),
    () => true,
    () => ({ haltedReason: null, haltedDetail: null, floods: [] }),
  )
  return { rows: [] }
}
export function* lockLane(context: Context, values: readonly unknown[]): Waiting<Rows> {
  const row = yield* lockFitting(context, keyIn(values), () => true)
  return { rows: row === undefined ? [] : [{ halted_reason: row.haltedReason }] }
}
export function* settleLane(context: Context, values: readonly unknown[]): Waiting<Rows> {
  const ledger = num(values[2])
  const fits = (row: LaneRow) => row.settledSeq < ledger && row.nextSeq >= ledger && row.haltedReason === null
  yield* updateLane(context, keyIn(values), fits, () => ({ settledSeq: ledger }))
  return { rows: [] }
}
export function* letGo(context: Context, values: readonly unknown[]): Waiting<Rows> {
  const fences = num(values[2])
  const row = yield* updateLane(
    context,
    keyIn(values),
    (one) => one.fences === fences,
    () => ({ isOwned: false }),
  )
  return { rows: row === undefined ? [] : [{}] }
}
export function* outlive(context: Context, values: readonly unknown[]): Waiting<Rows> {
  const fences = num(values[2])
  const aloneOffset = values[3] === null ? null : num(values[3])
  yield* updateLane(
    context,
    keyIn(values),
    (row) => row.fences >= fences,
    (row) => ({
      isOwned: row.isOwned && row.fences > fences,
      ownerDeaths: row.ownerDeaths - (row.fences > fences && row.ownerDeaths > 0 ? 1 : 0),
      suspectDeaths: row.suspectDeaths - (row.suspectDeaths > 0 && row.suspectOffset === aloneOffset ? 1 : 0),
    }),
  )
  return { rows: [] }
}
export function* markAlone(context: Context, values: readonly unknown[]): Waiting<Rows> {
  const [fences, offset] = [num(values[2]), num(values[3])]
  const row = yield* updateLane(
    context,
    keyIn(values),
    (one) => one.fences === fences,
    (one) => ({
      suspectDeaths: (one.suspectOffset === offset ? one.suspectDeaths : 0) + 1,
      suspectOffset: offset,
    }),
  )
  return { rows: row === undefined ? [] : [{ deaths: row.suspectDeaths }] }
}
export function* unmarkAlone(context: Context, values: readonly unknown[]): Waiting<Rows> {
  const [fences, offset] = [num(values[2]), num(values[3])]
  const fits = (row: LaneRow) => row.fences === fences && row.suspectOffset === offset
  yield* updateLane(context, keyIn(values), fits, (row) => ({ suspectDeaths: Math.max(row.suspectDeaths - 1, 0) }))
  return { rows: [] }
}
export function readLane({ tables, tx }: Context, values: readonly unknown[]): Rows {
  const row = find(tables.lanes, keyIn(values), tx)
  return { rows: row === undefined ? [] : [laneResult(row)] }
}

/** The guarded UPDATE with which a statement begins, as its text has it. */
export function guardedUpdate(sql: string) {
  const { set, where } = readLaneUpdate(sql)
  return function* (
    context: Context,
    values: readonly unknown[],
  ): Waiting<{ before: LaneRow; after: LaneRow } | undefined> {
    const fits = (row: LaneRow) => where.every((holds) => holds(row, values))
    for (const row of rowsOf(context.tables.lanes, context.tx)) {
      if (!fits(row)) continue
      let before = row
      const after = yield* updateLane(context, laneKey(row.topic, row.lane), fits, (found) => {
        before = found
        return Object.assign({}, ...set.map((assign) => assign(found, values))) as Partial<LaneRow>
      })
      return after === undefined ? undefined : { before, after }
    }
    return undefined
  }
}

/** The guarded `select … for no key update` of a statement before it. */
export function guardedLock(sql: string) {
  const [, where = ''] = /from lanes where (topic = .*?) for no key update/s.exec(sql) ?? []
  const conditions = conditionsIn(where)
  return function* (context: Context, values: readonly unknown[]): Waiting<LaneRow | undefined> {
    const fits = (row: LaneRow) => conditions.every((holds) => holds(row, values))
    for (const row of rowsOf(context.tables.lanes, context.tx))
      if (fits(row)) return yield* lockFitting(context, laneKey(row.topic, row.lane), fits)
    return undefined
  }
}

function* lockFitting(
  { tables, tx }: Context,
  key: string,
  fits: (row: LaneRow) => boolean,
): Waiting<LaneRow | undefined> {
  const cell = tables.lanes.cells.get(key)
  if (cell === undefined) return undefined
  yield* lock(cell, tx)
  const row = cell.pending
  return row !== undefined && fits(row) ? row : undefined
}
