import type pg from 'pg'
import { transaction } from '../runtime/postgres.ts'
import { noteAction } from './note-action.ts'
import { notifyLanes } from './notify.ts'

export interface SkipRequest {
  /** The input topic's full name. */
  readonly topic: string
  readonly lane: number
  /** Offsets from, inclusive, to, exclusive. */
  readonly from: number
  readonly to: number
  readonly actor: string
  readonly reason: string
}

export type SkippedRange =
  | { readonly kind: 'skipped'; readonly wasHalted: boolean }
  | { readonly kind: 'unknown_lane' }
  /** Part of it is applied already: what is done cannot be skipped. */
  | { readonly kind: 'applied'; readonly appliedOffset: number }

/**
 * Notes that a lane must not process a range of its input, with one row that says who wants it and why. A lane that runs
 * is halted with it, as its owner read the ranges at its fence: resume it to go on.
 */
export const skipRange = (pool: pg.Pool, appId: string, request: SkipRequest): Promise<SkippedRange> =>
  transaction(pool, async (tx) => {
    const { topic, lane, from, to, actor, reason } = request
    const { rows } = await tx.query<{ applied: string; halted: boolean }>(
      `select applied_offset as applied, halted_reason is not null as halted from lanes
       where topic = $1 and lane = $2 for no key update`,
      [topic, lane],
    )
    if (rows[0] === undefined) return { kind: 'unknown_lane' }
    const appliedOffset = Number(rows[0].applied)
    if (from < appliedOffset) return { kind: 'applied', appliedOffset }
    await tx.query(
      `update lanes set skips = skips + int8multirange(int8range($3, $4)), updated_at = now(),
         halted_reason = coalesce(halted_reason, 'skip'), halted_at = coalesce(halted_at, now()),
         halted_detail = coalesce(halted_detail, $5)
       where topic = $1 and lane = $2`,
      [topic, lane, from, to, `offsets ${from} to ${to - 1} are to be skipped`],
    )
    await noteAction(tx, { actor, action: 'lane_skip', target: JSON.stringify({ topic, lane, from, to }), reason })
    await notifyLanes(tx, appId, [lane])
    return { kind: 'skipped', wasHalted: rows[0].halted }
  })
