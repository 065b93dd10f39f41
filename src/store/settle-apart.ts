import type pg from 'pg'
import { isBusy, isDataFault } from '../runtime/postgres-fault.ts'
import { noSteps, transaction, type OnStep, type Transaction, type TransactionStep } from '../runtime/postgres.ts'

/** Why an item has no result of its own. */
export type ItemFault =
  /** Somebody else's lock was not given back in time. */
  | { readonly kind: 'busy' }
  /** Postgres refuses this item's data, which the caller should have. */
  | { readonly kind: 'failed'; readonly error: unknown }

/** After the first wait a holder is known to be slow; those that work take microseconds. */
const NEXT_WAITS_MS = 10
/** 1.5 s in all: what is still in doubt then is called busy. Enough for some 70 locked items that lie side by side. */
const NEXT_WAITS_MAX = 150

/**
 * Runs `work` on all items in one transaction. If one of them waits too long for a lock, or its data is refused, the
 * halves are tried apart, larger parts first, until only the items at fault are left without a result.
 * The first try waits for a lock as long as the pool says, all others together 1.5 s.
 * @param work idempotent; one result per item, at the same index
 * @param items those that may wait for the same holder side by side: then there are few parts to try
 * @throws whatever is no item's fault; items of parts that were done are done
 */
export async function settleApart<Item, Result>(
  pool: pg.Pool,
  items: readonly Item[],
  work: (tx: Transaction, items: readonly Item[]) => Promise<readonly Result[]>,
  onStep: OnStep<TransactionStep> = noSteps,
): Promise<(Result | ItemFault)[]> {
  const results: (Result | ItemFault)[] = items.map(() => ({ kind: 'busy' }))
  const parts = items.length === 0 ? [] : [{ from: 0, to: items.length }]
  let waits = 0
  for (const [nth, { from, to }] of parts.entries()) {
    try {
      const done = await transaction(
        pool,
        async (tx) => {
          if (nth > 0) await tx.query(`set local lock_timeout = ${NEXT_WAITS_MS}`)
          return work(tx, items.slice(from, to))
        },
        onStep,
      )
      results.splice(from, done.length, ...done)
    } catch (error) {
      const fault = faultOf(error)
      if (fault === undefined) throw error
      if (fault.kind === 'busy' && ++waits > NEXT_WAITS_MAX) break
      const middle = Math.ceil((from + to) / 2)
      if (middle === to) results[from] = fault
      else parts.push({ from, to: middle }, { from: middle, to })
    }
  }
  return results
}

function faultOf(error: unknown): ItemFault | undefined {
  if (isBusy(error)) return { kind: 'busy' }
  return isDataFault(error) ? { kind: 'failed', error } : undefined
}
