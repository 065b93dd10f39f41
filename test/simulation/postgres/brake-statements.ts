import { cellOf, find, isChanged, lock, rowsOf, type Cell, type Waiting } from './cells.ts'
import type { Context, Rows } from './database.ts'
import { insert } from './batch-statements.ts'
import { updateLane } from './lane-statements.ts'
import { cellWhere, change } from './write-batch.ts'
import { num, text } from './params.ts'
import { laneKey, type BrakeRow } from './tables.ts'

type Values = readonly unknown[]
const orNull = (value: unknown) => value as string | null
const isScope = (row: BrakeRow, values: Values) =>
  !row.isReleased &&
  row.merchant === orNull(values[0]) &&
  row.outTradeNo === orNull(values[1]) &&
  row.eventType === orNull(values[2])

export function countBrakes({ tables, tx }: Context): Rows {
  return { rows: [{ n: [...rowsOf(tables.brakes, tx)].filter((row) => !row.isDone && !row.isReleased).length }] }
}

export function* insertBrake(context: Context, values: Values): Waiting<Rows> {
  const { tables, tx } = context
  if (values[5] !== true) return { rows: [] }
  const id = context.nextId('brakes') // Taken also where the scope is there: an identity column counts before it looks.
  const isRival = (cell: Cell<BrakeRow>) =>
    isChanged(cell, tx) && [cell.committed, cell.pending].some((row) => row !== undefined && isScope(row, values))
  for (;;) {
    const rival = [...tables.brakes.cells.values()].find(isRival)
    if (rival === undefined) break
    yield rival
  }
  if ([...rowsOf(tables.brakes, tx)].some((row) => isScope(row, values))) return { rows: [] }
  yield* insert(context, () => cellOf(tables.brakes, id), {
    ...{ id, merchant: orNull(values[0]), outTradeNo: orNull(values[1]), eventType: orNull(values[2]) },
    ...{ isTold: false, isReleased: false, isReleaseTold: false, isDone: false },
  })
  return { rows: [{ id }] }
}

export function findBrake({ tables, tx }: Context, values: Values): Rows {
  const found = [...rowsOf(tables.brakes, tx)].find((row) => isScope(row, values))
  return { rows: found === undefined ? [] : [{ id: found.id }] }
}

export function* lockBrake(context: Context, values: Values): Waiting<Rows> {
  const cell = cellWhere(context.tables.brakes.cells, ({ id }) => id === num(values[0]), context)
  if (cell !== undefined) yield* lock(cell, context.tx)
  const row = cell?.pending
  if (row === undefined) return { rows: [] }
  const { isReleased: is_released, merchant, outTradeNo, eventType } = row
  return { rows: [{ is_released, scope: { merchant, outTradeNo, eventType } }] }
}

const brake = (set: Partial<BrakeRow>, fits: (row: BrakeRow) => boolean = () => true) =>
  function* (context: Context, values: Values): Waiting<Rows> {
    const cell = cellWhere(context.tables.brakes.cells, (row) => row.id === num(values[0]) && fits(row), context)
    yield* change(context, cell, () => set)
    return { rows: [] }
  }
export const setReleased = brake({ isReleased: true })
export const setTold = brake({ isTold: true })
export const setReleaseTold = brake({ isReleaseTold: true }, ({ isReleased }) => isReleased)

export function countWaiting({ tables, tx }: Context, values: Values): Rows {
  return { rows: [{ n: [...rowsOf(tables.waiting, tx)].filter(({ brakeId }) => brakeId === num(values[0])).length }] }
}

const tell = (isReleased: boolean) =>
  function* (context: Context, values: Values): Waiting<Rows> {
    const [topic, lane, brakeId, channel] = [text(values[0]), num(values[1]), num(values[2]), text(values[3])]
    const raise = ({ brakeVersion }: { brakeVersion: number }) => ({ brakeVersion: brakeVersion + 1 })
    const isThere = !isReleased || find(context.tables.brakes, brakeId, context.tx)?.isReleased === true
    const row = isThere ? yield* updateLane(context, laneKey(topic, lane), () => true, raise) : undefined
    if (row === undefined) return { rows: [] }
    const key = `${brakeId}/${lane}`
    const told = { brakeId, lane, stopSeq: row.nextSeq, isReleased }
    const isNew = yield* insert(context, () => cellOf(context.tables.brakeLanes, key), told)
    if (!isNew && isReleased) yield* change(context, cellOf(context.tables.brakeLanes, key), () => ({ isReleased }))
    context.tx.notifications.push({ channel, payload: String(lane) })
    return { rows: [{}] }
  }
export const tellSet = tell(false)
export const tellReleased = tell(true)

export function untold({ tables, tx }: Context, values: Values): Rows {
  const [topic, brakeId, isReleased] = [text(values[0]), num(values[1]), values[2] === true]
  const lanes = [...rowsOf(tables.lanes, tx)].filter((row) => {
    const told = find(tables.brakeLanes, `${brakeId}/${row.lane}`, tx)
    return row.topic === topic && !(told !== undefined && (told.isReleased || !isReleased))
  })
  return { rows: lanes.sort((a, b) => a.lane - b.lane).map(({ lane }) => ({ lane })) }
}

export function readStops({ tables, tx }: Context, values: Values): Rows {
  const stops = [...rowsOf(tables.brakeLanes, tx)].filter(({ brakeId }) => brakeId === num(values[0]))
  return { rows: stops.map(({ lane, stopSeq: stop_seq }) => ({ lane, stop_seq })) }
}

export function openBrakes({ tables, tx }: Context): Rows {
  const open = [...rowsOf(tables.brakes, tx)].filter(({ isDone }) => !isDone)
  return {
    rows: open.map(({ id, isTold, isReleased, isReleaseTold }) => ({
      id,
      set_untold: !isTold && !isReleased,
      release_untold: isReleased && !isReleaseTold,
    })),
  }
}

export function* closeBrakes(context: Context): Waiting<Rows> {
  const { tables, tx } = context
  const waiting = new Set([...rowsOf(tables.waiting, tx)].map(({ brakeId }) => brakeId))
  for (const { id, isDone, isReleased, isReleaseTold } of rowsOf(tables.brakes, tx))
    if (!isDone && isReleased && isReleaseTold && !waiting.has(id))
      yield* change(context, tables.brakes.cells.get(id), () => ({ isDone: true }))
  return { rows: [] }
}
