import type pg from 'pg'
import { decideCreate } from '../orders/create.ts'
import type { ExistingOrder } from '../orders/create-order.ts'
import type { Status } from '../orders/model.ts'
import type { BodyField, OrderBody } from '../orders/order-body.ts'
import { noSteps, type OnStep, type Transaction, type TransactionStep } from '../runtime/postgres.ts'
import { int8s } from './bind.ts'
import { completeStubs } from './complete-stubs.ts'
import { freeGroups, lockGroups } from './free-groups.ts'
import { findTerms, type FoundTerms } from './find-terms.ts'
import { insertOrders, type NewOrder } from './insert-orders.ts'
import { lockOrders } from './lock-orders.ts'
import { notifyLanes } from './notify.ts'
import { settleApart, type ItemFault } from './settle-apart.ts'

export type CreateResult =
  | { readonly kind: 'created' | 'same'; readonly status: Status }
  | { readonly kind: 'differs'; readonly field: BodyField }
  | { readonly kind: 'archived' }
  /** `busy`: the order's lane holds its lock for too long: ask again. */
  | ItemFault

/** `insert`: of new orders; `complete`: of stubs. */
export type CreateStep =
  | `${'insert' | 'complete'}_${TransactionStep}`
  | 'insert_written'
  | 'complete_locked'
  /** The lane is not told yet. */
  | 'complete_written'

/**
 * Creates orders, each with its own result at the same index; safe to call again with the same ones. New orders need
 * nobody's lock. A stub (its callback came first) does, so stubs get a transaction of their own. A lane that is slow
 * with some of them, or is just making them, keeps no other order waiting for longer than the pool's lock timeout.
 * @param orders a key may be there twice: the first one counts, as if they came one after another
 */
export async function createOrders(
  pool: pg.Pool,
  appId: string,
  orders: readonly NewOrder[],
  onStep: OnStep<CreateStep> = noSteps,
): Promise<CreateResult[]> {
  const firsts = new Map<string, NewOrder>()
  for (const order of orders) if (!firsts.has(keyOf(order))) firsts.set(keyOf(order), order)
  const settled = new Map<string, Settled>()
  const settle = async (
    part: 'insert' | 'complete',
    asked: readonly NewOrder[],
    work: (tx: Transaction, part: readonly NewOrder[]) => Promise<Settled[]>,
  ) => {
    // By lane: what one slow lane holds lies side by side.
    const byLane = asked.toSorted((a, b) => a.lane - b.lane)
    const values = await settleApart(pool, byLane, work, (step) => onStep(`${part}_${step}`))
    byLane.forEach((order, index) => settled.set(keyOf(order), values[index] ?? { kind: 'busy' }))
  }
  await settle('insert', [...firsts.values()], (tx, part) => insertNew(tx, part, onStep))
  const stubs = [...firsts.values()].filter((order) => settled.get(keyOf(order))?.kind === 'stub')
  await settle('complete', stubs, (tx, part) => completeLocked(tx, appId, part, onStep))
  return orders.map((order) => {
    const value = settled.get(keyOf(order))
    if (value === undefined) throw new Error('an order without a result')
    return resultOf(order.body, firsts.get(keyOf(order)) === order, value)
  })
}

/** What a key's first order came to, and what the others of the key compare themselves with. */
type Settled =
  | { readonly kind: 'created'; readonly body: OrderBody }
  | { readonly kind: 'found'; readonly found: FoundTerms }
  | { readonly kind: 'stub' }
  | ItemFault

async function insertNew(tx: Transaction, orders: readonly NewOrder[], onStep: OnStep<CreateStep>): Promise<Settled[]> {
  const ids = await insertOrders(tx, orders)
  await onStep('insert_written')
  // After the insert, so that an order which another transaction has just committed is seen.
  const terms = await findTerms(
    tx,
    orders.map(({ body }) => body),
  )
  const revived: number[] = []
  const settled = orders.map(({ body }, index): Settled => {
    const [id, found = { kind: 'none' }] = [ids.get(index), terms[index]]
    if (id !== undefined && found.kind === 'archived') revived.push(id)
    else if (id !== undefined) return { kind: 'created', body }
    if (found.kind === 'order' && found.order.status === 'awaited') return { kind: 'stub' }
    return { kind: 'found', found }
  })
  if (revived.length > 0) await removeOrders(tx, revived)
  return settled
}

async function completeLocked(
  tx: Transaction,
  appId: string,
  stubs: readonly NewOrder[],
  onStep: OnStep<CreateStep>,
): Promise<Settled[]> {
  const bodies = stubs.map(({ body }) => body)
  const idsOf = (terms: readonly FoundTerms[]) =>
    terms.flatMap((found) => (found.kind === 'order' ? found.orderId : []))
  await lockOrders(tx, idsOf(await findTerms(tx, bodies)))
  await onStep('complete_locked')
  // Read again: the one before the lock was only to find the ids.
  const terms = await findTerms(tx, bodies)
  const toComplete: { orderId: number; body: OrderBody }[] = []
  const settled = bodies.map((body, index): Settled => {
    const found = terms[index] ?? { kind: 'none' }
    if (found.kind !== 'order' || decideCreate(found.order, body).kind !== 'create') return { kind: 'found', found }
    toComplete.push({ orderId: found.orderId, body })
    return { kind: 'created', body }
  })
  if (toComplete.length === 0) return settled
  const lanes = await completeStubs(tx, toComplete)
  await onStep('complete_written')
  await notifyLanes(tx, appId, lanes)
  return settled
}

function resultOf(body: OrderBody, isFirst: boolean, settled: Settled): CreateResult {
  switch (settled.kind) {
    case 'created':
      return isFirst ? { kind: 'created', status: 'pending' } : compare(pendingWith(settled.body), body)
    case 'found':
      if (settled.found.kind === 'archived') return { kind: 'archived' }
      // Neither found nor inserted: it went away in between. The next try sees why.
      return settled.found.kind === 'none' ? { kind: 'busy' } : compare(settled.found.order, body)
    case 'failed':
      // Nothing was created, so another body of the same key may be tried.
      return isFirst ? settled : { kind: 'busy' }
    case 'stub':
    case 'busy':
      return { kind: 'busy' }
  }
}

function compare(existing: ExistingOrder, body: OrderBody): CreateResult {
  const decision = decideCreate(existing, body)
  if (decision.kind === 'same') return { kind: 'same', status: existing.status }
  // A stub after all: the next try completes it.
  return decision.kind === 'create' ? { kind: 'busy' } : decision
}

const pendingWith = (terms: OrderBody): ExistingOrder => ({ status: 'pending', bodyHash: null, terms })
const keyOf = ({ body }: NewOrder) => `${body.merchant}\0${body.outTradeNo}`

/** Takes back what this very transaction inserted. */
async function removeOrders(tx: Transaction, ids: readonly number[]): Promise<void> {
  const groups = await lockGroups(tx, ids)
  await tx.query({
    name: 'remove-orders',
    text: `with gone as (delete from orders where id = any($1::int8[]) returning id),
      timer as (delete from timers using gone where order_id = gone.id)
      delete from order_payloads using gone where order_id = gone.id`,
    values: [int8s(ids)],
  })
  await freeGroups(tx, groups)
}
