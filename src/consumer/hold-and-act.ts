import type pg from 'pg'
import { transactionOn, type OnStep, type Transaction, type TransactionStep } from '../runtime/postgres.ts'

export interface Held {
  readonly tx: Transaction
  /** Ends after the time, and at once when the connection is lost, as the row is then no longer held. */
  readonly signal: AbortSignal
}

/** More than the time for the call: a session that is ended meanwhile gives the row to another. */
const IDLE_MORE_MS = 10_000

/**
 * A transaction that stays open during a request to a third party: the row's lock says that somebody is at it, also
 * where that somebody is frozen, as the session lives as long as its process. A lease would have to guess.
 */
export async function holdAndAct<T>(
  pool: pg.Pool,
  actMs: number,
  act: (held: Held) => Promise<T>,
  onStep: OnStep<TransactionStep>,
): Promise<T> {
  const client = await pool.connect()
  const lost = new AbortController()
  const onLost = () => lost.abort(new Error('the connection to Postgres was lost'))
  client.once('error', onLost)
  client.once('end', onLost)
  let failed = true
  try {
    const result = await transactionOn(
      client,
      async (tx) => {
        await tx.query(`set local idle_in_transaction_session_timeout = ${actMs + IDLE_MORE_MS}`)
        return act({ tx, signal: lost.signal })
      },
      onStep,
    )
    failed = false
    return result
  } finally {
    client.off('error', onLost)
    client.off('end', onLost)
    client.release(failed)
  }
}

/** An end by the clock, and not by `work`. */
export class OutOfTime extends Error {
  override readonly name = 'OutOfTime'
}

/** @throws what `work` throws, or the reason why the time for it ended; `work` may not have heard of that */
export async function withinTime<T>(
  ms: number,
  lost: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = new AbortController()
  const timer = setTimeout(() => ended.abort(new OutOfTime(`no answer within ${ms} ms`)), ms)
  const signal = AbortSignal.any([ended.signal, lost])
  const { promise, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)))
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    signal.throwIfAborted()
    const working = work(signal)
    working.catch(() => undefined) // Raced below; it may end after its time.
    return await Promise.race([working, promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}
