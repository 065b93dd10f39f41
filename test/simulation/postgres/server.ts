import { endTransaction, isCircle, type Cell, type Transaction, type Waiting } from './cells.ts'
import { createDatabase, failure, type Database, type Rows, type SessionState, type State } from './database.ts'
import { statementOf } from './statements.ts'
import type { Host, Happening } from '../world/queue.ts'
import type { Random } from '../world/random.ts'
import type { Scheduler } from '../world/scheduler.ts'

export interface Statement {
  readonly name?: string | undefined
  readonly text: string
  readonly values: readonly unknown[]
}
export type Reply = (error: Error | undefined, result?: { rows: readonly unknown[]; command: string }) => void

export interface ServerEvents {
  /** While the old rows can still be seen beside the new ones. */
  readonly beforeCommit: (tx: Transaction) => void
  /** Two transactions wait for each other: everybody takes locks in one order, so that this never happens. */
  readonly onDeadlock: (statement: string) => void
  readonly onNotify: (channel: string, payload: string) => void
  /** A statement failed for a reason that passes. */
  readonly onTrouble?: () => void
}

export interface Session extends SessionState {
  readonly host: Host
  readonly pid: number
  tx: Transaction | undefined
  /** Of the statement that is running, also where it is a transaction of its own. */
  running: Transaction | undefined
  /** An error ended the transaction; all but ROLLBACK is refused. */
  isAborted: boolean
  isGone: boolean
  lastMs: number
  /** Tells the client. */
  onEnd: (error: Error) => void
}

export interface Server {
  readonly database: Database
  readonly open: (host: Host, applicationName: string) => Session
  readonly execute: (session: Session, statement: Statement, reply: Reply) => void
  /** The client is gone, or somebody ended it: rolled back, locks free. */
  readonly end: (session: Session, error?: Error) => void
  readonly sessionsOf: (host: Host) => readonly Session[]
  /** Who has the lock that its statement waits for. */
  readonly waitsFor: (session: Session) => Session | undefined
  /** Every session is cut; nobody gets in for a while. @returns how many there were */
  readonly stop: (forMs: number) => number
  readonly isUp: () => boolean
  readonly restore: (state: State) => void
  /** Probability that a statement fails for a reason that passes. */
  trouble: number
}

const IDLE_IN_TRANSACTION_MS = 15_000
const TROUBLE = ['40001', '53300', '57014', '55P03', '40P01', '53100', '58030'] as const

/** Postgres, as far as lanes and api can tell. */
export function createServer(scheduler: Scheduler, random: Random, events: ServerEvents): Server {
  const database = createDatabase()
  const sessions = new Set<Session>()
  let pids = 0
  let transactions = 0
  let upAgainMs = 0

  const begin = (): Transaction => ({
    ...{ id: ++transactions, cells: new Set(), notifications: [], writes: [], waitsFor: undefined, isOver: false },
  })
  const commit = (tx: Transaction) => {
    events.beforeCommit(tx)
    endTransaction(tx, true)
    for (const { channel, payload } of tx.notifications) events.onNotify(channel, payload)
  }
  const end = (session: Session, error?: Error) => {
    if (session.isGone) return
    session.isGone = true
    sessions.delete(session)
    if (session.tx !== undefined) endTransaction(session.tx, false)
    if (session.running !== undefined) endTransaction(session.running, false)
    session.tx = undefined
    session.running = undefined
    if (error !== undefined) session.onEnd(error)
  }
  const watchIdle = (session: Session, tx: Transaction) => {
    scheduler.at(IDLE_IN_TRANSACTION_MS, undefined, 'idle in transaction', () => {
      if (session.isGone || session.tx !== tx || tx.waitsFor !== undefined) return
      if (scheduler.nowMs() - session.lastMs < IDLE_IN_TRANSACTION_MS) {
        watchIdle(session, tx)
        return
      }
      end(session, failure('25P03', 'terminating connection due to idle-in-transaction timeout'))
    })
  }
  /** Runs until it waits for a lock, and goes on when it is free. */
  const drive = (
    session: Session,
    tx: Transaction,
    running: Waiting<Rows>,
    done: (error: Error | undefined, rows?: Rows) => void,
  ) => {
    const goOn = () => {
      if (session.isGone || tx.isOver) return
      let state: IteratorResult<Cell, Rows>
      try {
        state = running.next()
      } catch (error) {
        done(error as Error)
        return
      }
      if (state.done === true) {
        done(undefined, state.value)
        return
      }
      const cell = state.value
      if (isCircle(cell, tx)) {
        events.onDeadlock(`${cell.table.name} of ${session.applicationName}`)
        done(failure('40P01', 'deadlock detected'))
        return
      }
      tx.waitsFor = cell
      let timer: Happening | undefined = undefined
      const resume = () => {
        if (tx.waitsFor !== cell) return
        tx.waitsFor = undefined
        if (timer !== undefined) scheduler.cancel(timer)
        scheduler.at(random.next(), undefined, `lock of ${cell.table.name}`, goOn)
      }
      cell.waiting.push(resume)
      timer = scheduler.at(session.localLockTimeoutMs ?? session.lockTimeoutMs, undefined, 'lock timeout', () => {
        if (tx.waitsFor !== cell) return
        tx.waitsFor = undefined
        done(failure('55P03', 'canceling statement due to lock timeout'))
      })
    }
    goOn()
  }
  const runStatement = (session: Session, statement: Statement, reply: Reply) => {
    const { tx: open } = session
    const tx = open ?? begin()
    session.running = tx
    const done = (error: Error | undefined, rows?: Rows) => {
      session.running = undefined
      if (error !== undefined) {
        endTransaction(tx, false)
        if (open !== undefined) session.isAborted = true
        reply(error)
        return
      }
      if (open === undefined) commit(tx)
      reply(undefined, { rows: rows?.rows ?? [], command: '' })
    }
    if (random.chance(server.trouble)) {
      events.onTrouble?.()
      done(failure(random.pick(TROUBLE), 'trouble'))
      return
    }
    const run = statementOf(statement)
    const context = {
      ...{ tables: database.tables, tx, session, nowMs: scheduler.wallMs(), nextId: database.nextId },
      terminate: (matches: (name: string) => boolean) => {
        const found = [...sessions].filter((other) => other !== session && matches(other.applicationName))
        for (const other of found) end(other, failure('57P01', 'terminating connection due to administrator command'))
        return found.length
      },
    }
    let result: Rows | Waiting<Rows>
    try {
      result = run(context, statement.values)
    } catch (error) {
      done(error as Error)
      return
    }
    if ('rows' in result) {
      done(undefined, result)
      return
    }
    drive(session, tx, result, done)
  }

  const server: Server = {
    database,
    trouble: 0,
    isUp: () => scheduler.nowMs() >= upAgainMs,
    open: (host, applicationName) => {
      const session: Session = {
        ...{
          host,
          applicationName,
          lockTimeoutMs: 10_000,
          localLockTimeoutMs: undefined,
          pid: ++pids,
          tx: undefined,
          isAborted: false,
        },
        ...{ running: undefined, isGone: false, lastMs: scheduler.nowMs(), onEnd: () => undefined },
      }
      sessions.add(session)
      return session
    },
    execute: (session, statement, reply) => {
      if (session.isGone) return
      session.lastMs = scheduler.nowMs()
      const verb = /^\w+/.exec(statement.text)?.[0].toLowerCase()
      if (verb === 'begin') {
        session.tx = begin()
        session.localLockTimeoutMs = undefined
        session.isAborted = false
        watchIdle(session, session.tx)
        reply(undefined, { rows: [], command: 'BEGIN' })
        return
      }
      if (verb === 'commit' || verb === 'rollback') {
        const { tx, isAborted } = session
        session.tx = undefined
        session.localLockTimeoutMs = undefined
        session.isAborted = false
        const isCommit = verb === 'commit' && tx !== undefined && !isAborted
        if (tx !== undefined && !tx.isOver) {
          if (isCommit) commit(tx)
          else endTransaction(tx, false)
        }
        reply(undefined, { rows: [], command: isCommit ? 'COMMIT' : 'ROLLBACK' })
        return
      }
      if (session.isAborted) {
        reply(failure('25P02', 'current transaction is aborted'))
        return
      }
      runStatement(session, statement, reply)
    },
    end,
    sessionsOf: (host) => [...sessions].filter((session) => session.host === host),
    waitsFor: ({ running }) => {
      const owner = running?.waitsFor?.owner
      return owner && [...sessions].find(({ tx, running: at }) => tx === owner || at === owner)
    },
    stop: (forMs) => {
      upAgainMs = scheduler.nowMs() + forMs
      const all = [...sessions]
      for (const session of all) end(session, failure('57P01', 'terminating connection due to administrator command'))
      return all.length
    },
    restore: (state) => database.putBack(state),
  }
  return server
}
