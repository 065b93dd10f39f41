import type { Transaction } from '../runtime/postgres.ts'
import { isDatabaseTrouble } from '../runtime/postgres-fault.ts'
import { OutOfTime, withinTime } from './hold-and-act.ts'

/** The time was over while Postgres had not answered: its fault, or a lock's, as likely as the handler's. */
export class SlowDatabase extends Error {
  override readonly name = 'SlowDatabase'
}

/** Trouble around the database, for which no event is to blame. */
export const isTrouble = (error: unknown): boolean => error instanceof SlowDatabase || isDatabaseTrouble(error)

/**
 * Runs a user's code in a transaction, for a limited time: one that hangs would keep its place, and the process could
 * not stop. What it asks of `tx` after its end is refused: the connection is rolled back by then, where each statement
 * commits by itself, or is another event's.
 * @throws what `work` throws; Error at the end of the time; SlowDatabase if Postgres was waited for then
 */
export async function runHandler<T>(ms: number, tx: Transaction, work: (tx: Transaction) => Promise<T>): Promise<T> {
  let hasEnded = false
  let unanswered = 0
  const ask = tx.query.bind(tx) as (...args: unknown[]) => unknown
  const query = (...args: unknown[]): unknown => {
    if (hasEnded)
      return Promise.reject(new Error('the transaction of this handler has ended: was something not awaited?'))
    const answer = ask(...args) // A cursor is none yet.
    if (answer instanceof Promise) {
      unanswered += 1
      const answered = () => (unanswered -= 1)
      answer.then(answered, answered)
    }
    return answer
  }
  const own = Object.create(tx, { query: { value: query } }) as Transaction
  try {
    return await withinTime(ms, new AbortController().signal, () => work(own))
  } catch (error) {
    if (error instanceof OutOfTime && unanswered > 0) throw new SlowDatabase(error.message, { cause: error })
    throw error
  } finally {
    hasEnded = true
  }
}
