import type { Transaction } from '../runtime/postgres.ts'
import { settleRow, type Owner } from './change-row.ts'
import type { OnceEffect } from './effect.ts'
import type { OpenRow } from './open-row.ts'
import { reportsOf } from './write-report.ts'

/** The effect is known to have happened, by the call's own answer or a later one: what follows and the row are one. */
export async function settleHappened(
  tx: Transaction,
  effect: Pick<OnceEffect, 'settled'>,
  owner: Owner,
  row: OpenRow,
  reference: string | undefined,
): Promise<void> {
  await effect.settled(tx, row.event, { reference, report: reportsOf(tx, owner.consumer, row.event) })
  await settleRow(tx, owner, row, reference)
}
