import type pg from 'pg'
import type { BrakeScope } from '../orders/brake.ts'
import { noSteps, transaction, type OnStep } from '../runtime/postgres.ts'
import { noteAction } from './note-action.ts'
import { int } from './statement.ts'
import { readStops, tellLanes, type BrakeStep } from './tell-lanes.ts'

/** More rules than people can oversee; each lane holds them all. */
export const BRAKES_MAX = 1_000

export interface SetBrake {
  /** `same`: it was set already, by whom and why `listBrakes` says. */
  readonly kind: 'set' | 'same'
  readonly id: number
  /** By lane: events with a smaller `lane_seq` still go out. A lane without an entry has never had an owner. */
  readonly stops: readonly { readonly lane: number; readonly stopSeq: number }[]
  /** Lanes that could not be told, as somebody holds their row; the processors tell them. */
  readonly untold: readonly number[]
}
export interface SetRequest extends BrakeScope {
  readonly actor: string
  readonly reason: string
}

/**
 * Sets a brake: first the rule, with the operator's action, then lane by lane. Safe to call again: the same scope is the
 * same brake, and lanes that were not told are told.
 */
export async function setBrake(
  pool: pg.Pool,
  appId: string,
  topic: string,
  request: SetRequest,
  onStep: OnStep<BrakeStep> = noSteps,
): Promise<SetBrake | { readonly kind: 'too_many' }> {
  const ruled = await rule(pool, request, onStep)
  if (ruled === undefined) return { kind: 'too_many' }
  await onStep('ruled')
  const untold = await tellLanes(pool, appId, topic, { brakeId: ruled.id, phase: 'set' }, onStep)
  return { ...ruled, stops: await readStops(pool, ruled.id), untold }
}

type Ruled = { readonly kind: 'set' | 'same'; readonly id: number }
/** One may be released between the insert that meets it and the look at it. */
const TRIES_MAX = 5

async function rule(pool: pg.Pool, request: SetRequest, onStep: OnStep<BrakeStep>): Promise<Ruled | undefined> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const ruled = await tryRule(pool, request, onStep)
    if (ruled !== 'gone') return ruled
  }
  throw new Error('the brake came and went')
}

function tryRule(pool: pg.Pool, request: SetRequest, onStep: OnStep<BrakeStep>): Promise<Ruled | 'gone' | undefined> {
  return transaction(
    pool,
    async (tx) => {
      const { merchant, outTradeNo, eventType, actor, reason } = request
      const { rows: counted } = await tx.query<{ n: number }>(
        'select count(*)::int as n from brakes where done_at is null and released_at is null',
      )
      const isRoom = (counted[0]?.n ?? 0) < BRAKES_MAX
      const { rows } = await tx.query<{ id: string }>(
        `insert into brakes (merchant, out_trade_no, event_type, set_by, reason) select $1, $2, $3, $4, $5 where $6::bool
       on conflict (coalesce(merchant, ''), coalesce(out_trade_no, ''), coalesce(event_type, '')) where released_at is null
       do nothing returning id`,
        [merchant, outTradeNo, eventType, actor, reason, isRoom],
      )
      const id = rows[0]?.id
      if (id !== undefined) {
        await onStep('changed')
        const target = JSON.stringify({ brake: int(id), merchant, outTradeNo, eventType })
        await noteAction(tx, { actor, action: 'brake_set', target, reason })
        return { kind: 'set', id: int(id) }
      }
      const { rows: found } = await tx.query<{ id: string }>(
        `select id from brakes where released_at is null and merchant is not distinct from $1
         and out_trade_no is not distinct from $2 and event_type is not distinct from $3`,
        [merchant, outTradeNo, eventType],
      )
      if (found[0] !== undefined) return { kind: 'same', id: int(found[0].id) }
      return isRoom ? 'gone' : undefined
    },
    onStep,
  )
}
