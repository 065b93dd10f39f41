import type pg from 'pg'
import type { Refusal } from '../orders/decision.ts'
import { noSteps, transaction, type OnStep, type Transaction, type TransactionStep } from '../runtime/postgres.ts'
import { lockOrders } from './lock-orders.ts'
import { noteAction } from './note-action.ts'

/** What claim and release come to; whoever is too late is told who was first. */
export type Claimed =
  /** `isNew` false: it was so already, and nothing was noted. */
  | { readonly kind: 'done'; readonly isNew: boolean }
  | {
      readonly kind: 'refused'
      readonly refusal: Refusal & { readonly reason: 'claimed' | 'already_resolved' | 'unknown_anomaly' }
    }

export interface ClaimRequest {
  readonly id: number
  readonly actor: string
  /** May be empty. */
  readonly reason: string
}

/** `changed`: who did it is not noted yet. */
export type ClaimStep = TransactionStep | 'locked' | 'changed'

/** Makes the actor the owner, if it is open and nobody's. Safe to call again. */
export const claimAnomaly = (
  pool: pg.Pool,
  { id, actor, reason }: ClaimRequest,
  onStep: OnStep<ClaimStep> = noSteps,
): Promise<Claimed> =>
  change(pool, id, onStep, async (tx, now) => {
    if (now.owner === actor) return { kind: 'done', isNew: false }
    if (now.owner !== null) return refused({ reason: 'claimed', owner: now.owner })
    await tx.query('update anomalies set owner = $2, claimed_at = now() where id = $1', [id, actor])
    await onStep('changed')
    await noteAction(tx, { actor, action: 'anomaly_claim', target: JSON.stringify({ anomalyId: id }), reason })
    return { kind: 'done', isNew: true }
  })

/**
 * Gives a claim back. Somebody else's is taken away only by naming them, so that nobody takes away a claim that they
 * have not seen. Safe to call again.
 * @param from whose claim it is; by default the actor's own
 */
export const releaseAnomaly = (
  pool: pg.Pool,
  { id, actor, reason, from = actor }: ClaimRequest & { readonly from?: string },
  onStep: OnStep<ClaimStep> = noSteps,
): Promise<Claimed> =>
  change(pool, id, onStep, async (tx, { owner }) => {
    if (owner === null) return { kind: 'done', isNew: false }
    if (owner !== from) return refused({ reason: 'claimed', owner })
    await tx.query('update anomalies set owner = null, claimed_at = null where id = $1', [id])
    await onStep('changed')
    const target = JSON.stringify({ anomalyId: id, owner })
    await noteAction(tx, { actor, action: 'anomaly_release', target, reason })
    return { kind: 'done', isNew: true }
  })

const refused = (refusal: (Claimed & { kind: 'refused' })['refusal']): Claimed => ({ kind: 'refused', refusal })

interface Now {
  readonly order_id: string
  readonly owner: string | null
  readonly resolution: string | null
  readonly resolved_by: string | null
}

/** Under the order's lock, as everything about an anomaly is written: a lane that answers it sees the claim or waits. */
function change(
  pool: pg.Pool,
  id: number,
  onStep: OnStep<ClaimStep>,
  work: (tx: Transaction, now: Now) => Promise<Claimed>,
): Promise<Claimed> {
  return transaction(
    pool,
    async (tx) => {
      const read = async () => {
        const text = 'select order_id, owner, resolution, resolved_by from anomalies where id = $1'
        return (await tx.query<Now>(text, [id])).rows[0]
      }
      const before = await read()
      if (before === undefined) return refused({ reason: 'unknown_anomaly' })
      const [locked] = await lockOrders(tx, [Number(before.order_id)])
      await onStep('locked')
      const now = await read()
      if (locked === undefined || now === undefined) return refused({ reason: 'unknown_anomaly' })
      const { resolution, resolved_by: by } = now
      return resolution === null ? work(tx, now) : refused({ reason: 'already_resolved', resolution, by })
    },
    onStep,
  )
}
