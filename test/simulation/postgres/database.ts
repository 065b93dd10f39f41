import pg from 'pg'
import type { Transaction } from './cells.ts'
import { createTables, putBack, takeSnapshot, type Snapshot, type Tables } from './tables.ts'

/** What a statement has at hand. */
export interface Context {
  readonly tables: Tables
  readonly tx: Transaction
  readonly nowMs: number
  /** The next number of an identity column; it never goes back. */
  readonly nextId: (table: string) => number
  readonly session: SessionState
  /** Ends other sessions. @returns those that were there */
  readonly terminate: (matches: (applicationName: string) => boolean) => number
}

export interface SessionState {
  applicationName: string
  lockTimeoutMs: number
  /** Until its transaction ends. */
  localLockTimeoutMs: number | undefined
}

export interface Rows {
  readonly rows: readonly unknown[]
  readonly command?: string
}

/** An error as the server words it. */
export function failure(code: string, message: string, constraint?: string): pg.DatabaseError {
  const error = new pg.DatabaseError(message, 0, 'error')
  error.severity = code.startsWith('57P') ? 'FATAL' : 'ERROR'
  error.code = code
  if (constraint !== undefined) error.constraint = constraint
  return error
}

export interface State {
  readonly snapshot: Snapshot
  readonly ids: ReadonlyMap<string, number>
}

/** The tables with their counters, and how they were at some time. */
export function createDatabase() {
  const tables = createTables()
  const ids = new Map<string, number>()
  return {
    tables,
    nextId: (table: string): number => {
      const id = (ids.get(table) ?? 0) + 1
      ids.set(table, id)
      return id
    },
    take: (): State => ({ snapshot: takeSnapshot(tables), ids: new Map(ids) }),
    /** To be called when no transaction is open. */
    putBack: (state: State) => {
      putBack(tables, state.snapshot)
      ids.clear()
      for (const [table, id] of state.ids) ids.set(table, id)
    },
  }
}
export type Database = ReturnType<typeof createDatabase>
