import { transaction } from '../runtime/postgres.ts'
import { askOnce } from './ask-once.ts'
import { callOnce } from './call-once.ts'
import { settleRow } from './change-row.ts'
import { conclude } from './conclude.ts'
import { holdRow, type OpenRow } from './open-row.ts'
import type { Parts, Worked } from './parts.ts'
import { isTrouble } from './run-handler.ts'
import { runInbox } from './run-inbox.ts'

/** One step with an event. @throws trouble around the database: the same step is tried again later */
export async function workOn(parts: Parts, row: OpenRow): Promise<Worked> {
  const { kind } = row.event
  const effect = Object.hasOwn(parts.effects, kind) ? parts.effects[kind] : undefined
  try {
    if (effect === undefined)
      return await conclude(parts, row, { kind: 'no_effect_for_kind', reason: `no effect is given for ${kind}` })
    switch (effect.kind) {
      case 'skip':
        return await skipEvent(parts, row)
      case 'inbox':
        return await runInbox(parts, row, effect)
      case 'once':
        return await (row.state === 'waiting' ? callOnce : askOnce)(parts, row, effect)
    }
  } catch (error) {
    if (isTrouble(error)) throw error
    // Only a row that is still as it was found is changed, so nothing that has begun is called failed.
    return conclude(parts, row, { kind: 'threw', reason: error instanceof Error ? error.message : String(error) })
  }
}

const skipEvent = ({ pool, owner }: Parts, found: OpenRow): Promise<Worked> =>
  transaction(pool, async (tx) => {
    const row = await holdRow(tx, owner.consumer, found)
    if (row === undefined) return 'busy'
    await settleRow(tx, owner, row, undefined)
    return 'skipped'
  })
