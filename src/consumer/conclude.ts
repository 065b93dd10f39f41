import { transaction, type Transaction } from '../runtime/postgres.ts'
import { bury, putOff, type DeadKind } from './change-row.ts'
import type { OpenRow } from './open-row.ts'
import { backoffMs, type Parts, type Worked } from './parts.ts'

/** Why an effect surely did not take place. */
export type NotDone =
  | { readonly kind: 'retry'; readonly reason: string; readonly afterMs?: number }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'no_effect_for_kind'; readonly reason: string }
  /** A surprise: perhaps this event's fault, perhaps not. */
  | { readonly kind: 'threw'; readonly reason: string }

/** The one place that decides what becomes of an event whose effect did not take place. */
export function fateOf(row: OpenRow, { kind, reason, ...more }: NotDone, { retries }: Pick<Parts, 'retries'>) {
  const attempts = row.attempts + 1
  const dead = (as: DeadKind) => ({ kind: 'bury', as, reason }) as const
  if (kind === 'refused' || kind === 'no_effect_for_kind') return dead(kind)
  if (kind === 'threw' && attempts >= retries.throwsMax) return dead('poison')
  if (row.ageMs >= retries.ageMsMax) return dead('gave_up')
  const asked = 'afterMs' in more ? more.afterMs : undefined
  const afterMs = asked === undefined ? backoffMs(retries, row.attempts) : Math.min(Math.max(asked, 0), retries.toMs)
  return { kind: 'put_off', reason, afterMs, attempts } as const
}

/** Writes it, if the row is still as it was found. */
export async function applyFate(tx: Transaction, parts: Parts, row: OpenRow, notDone: NotDone): Promise<Worked> {
  const fate = fateOf(row, notDone, parts)
  if (fate.kind === 'put_off') return (await putOff(tx, parts.owner, row, fate)) ? 'retry' : 'busy'
  return (await bury(tx, parts.owner, row, fate.as, fate.reason)) ? fate.as : 'busy'
}

/** The same in a transaction of its own. */
export const conclude = (parts: Parts, row: OpenRow, notDone: NotDone): Promise<Worked> =>
  transaction(parts.pool, (tx) => applyFate(tx, parts, row, notDone))
