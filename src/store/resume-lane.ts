import type pg from 'pg'
import { noSteps, transaction, type OnStep, type TransactionStep } from '../runtime/postgres.ts'
import { noteAction } from './note-action.ts'
import { notifyLanes } from './notify.ts'

export type Resumed =
  | { readonly kind: 'resumed'; readonly reason: string }
  | { readonly kind: 'not_halted' }
  /** Somebody has let it go on meanwhile, and it is halted by something else, which nobody has looked at. */
  | { readonly kind: 'other_halt'; readonly reason: string }
  | { readonly kind: 'unknown_lane' }

export interface ResumeRequest {
  readonly topic: string
  readonly lane: number
  readonly actor: string
  readonly reason: string
  /** What was mended: no other halt is cleared; left out: whatever it is, as a person says. */
  readonly haltedBy?: string | undefined
}

/**
 * Clears a lane's halt, notes who did it and why, and wakes the owner, which fences and judges anew: it halts again if
 * the cause stands. The window of the flood is emptied, as a person has looked at those dead letters.
 */
export async function resumeLane(
  pool: pg.Pool,
  appId: string,
  { topic, lane, actor, reason, haltedBy }: ResumeRequest,
  onStep: OnStep<TransactionStep> = noSteps,
): Promise<Resumed> {
  return transaction(
    pool,
    async (tx) => {
      const { rows } = await tx.query<{ halted_reason: string | null }>(
        'select halted_reason from lanes where topic = $1 and lane = $2 for no key update',
        [topic, lane],
      )
      if (rows[0] === undefined) return { kind: 'unknown_lane' }
      const haltedReason = rows[0].halted_reason
      if (haltedReason === null) return { kind: 'not_halted' }
      if (haltedBy !== undefined && haltedBy !== haltedReason) return { kind: 'other_halt', reason: haltedReason }
      await tx.query(
        `update lanes set halted_reason = null, halted_detail = null, halted_at = null, dead_letter_offsets = '{}',
         updated_at = now() where topic = $1 and lane = $2`,
        [topic, lane],
      )
      await noteAction(tx, {
        actor,
        action: 'lane_resume',
        target: JSON.stringify({ topic, lane, haltedReason }),
        reason,
      })
      await notifyLanes(tx, appId, [lane])
      return { kind: 'resumed', reason: haltedReason }
    },
    onStep,
  )
}
