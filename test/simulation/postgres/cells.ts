/**
 * One row, as READ COMMITTED needs it: what is committed, and what the one transaction that may change it has made of
 * it. Rows are never changed in place.
 */
export interface Cell<Row = unknown> {
  committed: Row | undefined
  /** What `owner` sees; undefined: it has deleted the row, or not inserted it. */
  pending: Row | undefined
  owner: Transaction | undefined
  readonly waiting: (() => void)[]
  readonly table: Table<Row>
  readonly key: string | number
}

export interface Transaction {
  readonly id: number
  readonly cells: Set<Cell>
  /** Sent at commit. */
  readonly notifications: { readonly channel: string; readonly payload: string }[]
  /** What the oracles are told of at commit. */
  readonly writes: unknown[]
  /** Undefined: it waits for nobody. */
  waitsFor: Cell | undefined
  isOver: boolean
}

export interface Table<Row = unknown> {
  readonly name: string
  readonly cells: Map<string | number, Cell<Row>>
}

export const createTable = <Row>(name: string): Table<Row> => ({ name, cells: new Map() })

/** What a transaction sees of a row; without one: what is committed. */
export const see = <Row>(cell: Cell<Row> | undefined, tx: Transaction | undefined): Row | undefined => {
  if (cell === undefined) return undefined
  return tx !== undefined && cell.owner === tx ? cell.pending : cell.committed
}

/** Whether somebody else is writing it: not committed, and more than a lock. */
export const isChanged = ({ owner, pending, committed }: Cell, tx: Transaction): boolean =>
  owner !== undefined && owner !== tx && pending !== committed

/** All rows that are visible, in the order of their insertion. */
export function* rowsOf<Row>(table: Table<Row>, tx: Transaction | undefined): Generator<Row> {
  for (const cell of table.cells.values()) {
    const row = see(cell, tx)
    if (row !== undefined) yield row
  }
}

export const find = <Row>(table: Table<Row>, key: string | number, tx: Transaction | undefined): Row | undefined =>
  see(table.cells.get(key), tx)

/** The row's place, made if nobody has it. */
export function cellOf<Row>(table: Table<Row>, key: string | number): Cell<Row> {
  const found = table.cells.get(key)
  if (found !== undefined) return found
  const cell: Cell<Row> = { committed: undefined, pending: undefined, owner: undefined, waiting: [], table, key }
  table.cells.set(key, cell)
  return cell
}

/** What a statement waits for: the row's owner must end first. */
export type Waiting<Result> = Generator<Cell, Result, void>

/** Takes the row's lock, after whoever has it. Afterwards its newest version is to be read again. */
export function* lock<Row>(cell: Cell<Row>, tx: Transaction): Waiting<void> {
  while (cell.owner !== undefined && cell.owner !== tx) yield cell
  if (cell.owner === tx) return
  cell.owner = tx
  cell.pending = cell.committed
  tx.cells.add(cell)
}

/** Writes a row whose lock is held; undefined deletes it. */
export function put<Row>(cell: Cell<Row>, tx: Transaction, row: Row | undefined): void {
  if (cell.owner !== tx) throw new Error(`a row of ${cell.table.name} is written without its lock`)
  cell.pending = row
}

/**
 * Ends a transaction and wakes those that wait for its rows. Once: an error ends it, and its client may come to its
 * ROLLBACK, or to its own end, much later. By then the rows' places are others'.
 */
export function endTransaction(tx: Transaction, isCommit: boolean): void {
  if (tx.isOver) return
  tx.isOver = true
  const woken: (() => void)[] = []
  for (const cell of tx.cells) {
    if (isCommit) cell.committed = cell.pending
    cell.pending = undefined
    cell.owner = undefined
    if (cell.committed === undefined && cell.waiting.length === 0) cell.table.cells.delete(cell.key)
    woken.push(...cell.waiting.splice(0))
  }
  for (const wake of woken) wake()
}

/** Whether waiting for the cell would close a circle. */
export function isCircle(cell: Cell, tx: Transaction): boolean {
  for (let at: Cell | undefined = cell; at !== undefined;) {
    const owner: Transaction | undefined = at.owner
    if (owner === tx) return true
    at = owner?.waitsFor
  }
  return false
}
