import type pg from 'pg'
import { noSteps, transaction, type OnStep, type TransactionStep } from '../runtime/postgres.ts'
import { FILTER, filterValues, filterView, type DeadLetterFilter } from './dead-letter-filter.ts'
import { noteAction } from './note-action.ts'
import { int } from './statement.ts'

/** What one command changes at most; the rest is for the next one. */
export const DISCARDS_MAX = 10_000

export interface Discarded {
  /** Those that were, or with a dry run would be, discarded, by reason. */
  readonly byReason: Readonly<Record<string, number>>
  /** More of them are there than one command takes. */
  readonly more: boolean
}

/** `changed`: who did it is not noted yet. */
export type DiscardStep = TransactionStep | 'changed'

/**
 * Closes dead letters for good, with one row that says who did it and why; their bytes stay. What is being replayed, was
 * replayed or is discarded is left alone.
 */
export async function discardDeadLetters(
  pool: pg.Pool,
  filter: DeadLetterFilter,
  { actor, reason, dryRun }: { readonly actor: string; readonly reason: string; readonly dryRun: boolean },
  onStep: OnStep<DiscardStep> = noSteps,
): Promise<Discarded> {
  const values = filterValues({ ...filter, statuses: filter.statuses ?? ['open', 'quarantined'] })
  return transaction(
    pool,
    async (tx) => {
      const { rows } = await tx.query<{ id: string; reason: string }>(
        `select d.id, d.reason from dead_letters d where ${FILTER} and d.status in ('open', 'quarantined')
       order by d.id limit ${DISCARDS_MAX + 1} for update`,
        values,
      )
      const chosen = rows.slice(0, DISCARDS_MAX)
      const byReason: Record<string, number> = {}
      for (const letter of chosen) byReason[letter.reason] = (byReason[letter.reason] ?? 0) + 1
      if (!dryRun && chosen.length > 0) {
        const ids = chosen.map(({ id }) => int(id))
        await tx.query(`update dead_letters set status = 'discarded', closed_at = now() where id = any($1::int8[])`, [
          ids,
        ])
        await onStep('changed')
        const target = JSON.stringify({ filter: filterView(filter), count: ids.length, ids: ids.slice(0, 100) })
        await noteAction(tx, { actor, action: 'dead_letters_discard', target, reason })
      }
      return { byReason, more: rows.length > DISCARDS_MAX }
    },
    onStep,
  )
}
