import type pg from 'pg'
import { noSteps, transaction, type OnStep } from '../runtime/postgres.ts'
import { waitingOf } from './list-brakes.ts'
import { noteAction } from './note-action.ts'
import { int } from './statement.ts'
import { tellLanes, type BrakeStep } from './tell-lanes.ts'

export type Released =
  | {
      /** `same`: it was released before. */
      readonly kind: 'released' | 'same'
      /**
       * Events that waited for it then, counted as `listBrakes` does; the lanes number them, in order, unless another
       * brake keeps them.
       */
      readonly waiting: number
      readonly untold: readonly number[]
    }
  | { readonly kind: 'unknown_brake' }

/**
 * Releases a brake: it matches nothing more, and its lanes number what waited for it, step by step. Safe to call again.
 * @param merchant only a brake of this merchant; null: any
 */
export async function releaseBrake(
  pool: pg.Pool,
  appId: string,
  topic: string,
  request: { readonly id: number; readonly merchant: string | null; readonly actor: string; readonly reason: string },
  onStep: OnStep<BrakeStep> = noSteps,
): Promise<Released> {
  const { id, merchant, actor, reason } = request
  const ruled = await transaction(
    pool,
    async (tx) => {
      const { rows } = await tx.query<{ is_released: boolean; scope: Record<string, string | null> }>(
        `select released_at is not null as is_released,
         jsonb_build_object('merchant', merchant, 'outTradeNo', out_trade_no, 'eventType', event_type) as scope
       from brakes where id = $1 and ($2::text is null or merchant = $2) for no key update`,
        [id, merchant],
      )
      if (rows[0] === undefined) return undefined
      if (rows[0].is_released) return 'same' as const
      await tx.query(`update brakes set released_at = now(), released_by = $2, release_reason = $3 where id = $1`, [
        ...[id, actor, reason],
      ])
      await onStep('changed')
      const target = JSON.stringify({ brake: id, ...rows[0].scope })
      await noteAction(tx, { actor, action: 'brake_release', target, reason })
      return 'released' as const
    },
    onStep,
  )
  if (ruled === undefined) return { kind: 'unknown_brake' }
  await onStep('ruled')
  const { rows } = await pool.query<{ n: string }>(waitingOf('$1::int8'), [id])
  const untold = await tellLanes(pool, appId, topic, { brakeId: id, phase: 'released' }, onStep)
  return { kind: ruled, waiting: int(rows[0]?.n ?? 0), untold }
}
