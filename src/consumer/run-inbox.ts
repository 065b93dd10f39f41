import { transaction } from '../runtime/postgres.ts'
import { settleRow } from './change-row.ts'
import { checkOutcome } from './check-outcome.ts'
import { conclude, type NotDone } from './conclude.ts'
import type { InboxEffect } from './effect.ts'
import { holdRow, type OpenRow } from './open-row.ts'
import type { Parts, Worked } from './parts.ts'
import { isTrouble, runHandler } from './run-handler.ts'
import { reportsOf } from './write-report.ts'

/** Ends the transaction of a handler that did not succeed, with all that it wrote. */
class Undo extends Error {
  override readonly name = 'Undo'
  readonly notDone: NotDone
  constructor(notDone: NotDone) {
    super(notDone.reason)
    this.notDone = notDone
  }
}

/**
 * Runs a handler in the transaction that settles its event: both or neither. A commit whose answer was lost needs no
 * care, as the row tells.
 */
export async function runInbox(parts: Parts, found: OpenRow, effect: InboxEffect): Promise<Worked> {
  const { pool, owner, reach } = parts
  try {
    return await transaction(
      pool,
      async (tx): Promise<Worked> => {
        const row = await holdRow(tx, owner.consumer, found)
        if (row === undefined) return 'busy'
        await reach('inbox_claimed')
        const outcome = checkOutcome(
          await runHandler(parts.handleMs, tx, (own) =>
            effect.handle(own, row.event, { report: reportsOf(own, owner.consumer, row.event) }),
          ),
        )
        await reach('inbox_handled')
        if (outcome !== undefined && outcome.kind !== 'done') throw new Undo(outcome)
        await settleRow(tx, owner, row, undefined)
        return 'done'
      },
      (step) => (step === 'before_begin' ? undefined : reach(`inbox_${step}`)),
    )
  } catch (error) {
    if (error instanceof Undo) return conclude(parts, found, error.notDone)
    if (isTrouble(error)) throw error
    return conclude(parts, found, { kind: 'threw', reason: error instanceof Error ? error.message : String(error) })
  }
}
