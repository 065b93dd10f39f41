import type { Transaction } from '../runtime/postgres.ts'
import { settleRow } from './change-row.ts'
import type { OnceEffect } from './effect.ts'
import type { OpenRow } from './open-row.ts'
import type { Parts } from './parts.ts'
import { runHandler } from './run-handler.ts'
import { reportsOf } from './write-report.ts'

/** The effect is known to have happened, by the call's own answer or a later one: what follows and the row are one. */
export async function settleHappened(
  tx: Transaction,
  effect: Pick<OnceEffect, 'settled'>,
  { owner, handleMs }: Pick<Parts, 'owner' | 'handleMs'>,
  row: OpenRow,
  reference: string | undefined,
): Promise<void> {
  await runHandler(handleMs, tx, (own) =>
    effect.settled(own, row.event, { reference, report: reportsOf(own, owner.consumer, row.event) }),
  )
  await settleRow(tx, owner, row, reference)
}
