import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { transactionOn, type Transaction } from '../runtime/postgres.ts'

/** Whoever comes after waits behind a lock that is asked for: far below a lane's own 500 ms. */
const WAIT_MS = 100
const TRIES = 5
const PAUSE_MS = 100
/** Not given in time, or a circle of waiting that Postgres cut here. */
const BUSY: ReadonlySet<string> = new Set(['55P03', '40P01'])

/**
 * Runs a change of tables in a transaction of its own that waits for no lock longer than 100 ms, up to five times.
 * @param work idempotent
 * @returns undefined: the lock was never free
 */
export async function withBriefLock<T>(
  client: pg.ClientBase,
  work: (tx: Transaction) => Promise<T>,
): Promise<T | undefined> {
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    try {
      return await transactionOn(client, async (tx) => {
        await tx.query(`set local lock_timeout = ${WAIT_MS}`)
        return work(tx)
      })
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && BUSY.has(error.code ?? ''))) throw error
      if (attempt < TRIES) await delay(PAUSE_MS * (0.5 + Math.random()))
    }
  }
  return undefined
}
