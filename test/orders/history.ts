import fc from 'fast-check'
import { factCause } from '../../src/orders/identity.ts'
import type { FactKind } from '../../src/orders/model.ts'
import { refundedOf } from '../../src/simulator/refunded-of.ts'
import { providerFact, workerFact } from './arbitrary.ts'
import { fact } from './build.ts'
import { netEffect } from './net-effect.ts'
import { Shop, type RealTerms, type Step } from './shop.ts'
import { touchedCells, type CellName } from './trace.ts'

/** What happens to one order, or to two of a group; in which order is another matter. */
export interface History {
  readonly orderIds: readonly number[]
  /** No step twice; the creates are among them. */
  readonly parts: readonly Step[]
  readonly real?: Required<RealTerms>
}

/** A shop where nothing has happened yet. */
export const shopOf = ({ orderIds, real }: History) =>
  new Shop(orderIds, () => (orderIds.length > 1 ? (real?.nameOf(0) ?? 'group') : null), real)

export const PARTS_MAX = 7

/** A payment, a second one, refunds of both kinds, closes, expiry, a shipment, a failure…: up to seven. */
export const history: fc.Arbitrary<History> = fc
  .constantFrom([1], [1], [1, 2])
  .chain((orderIds) =>
    fc
      .uniqueArray(part(orderIds), { minLength: 2, maxLength: PARTS_MAX, selector: nameOf })
      .map((parts) => ({ orderIds, parts: [...orderIds.map(create), ...parts] })),
  )

function part(orderIds: readonly number[]): fc.Arbitrary<Step> {
  const any = fc.oneof(
    { weight: 10, arbitrary: providerFact.map((of): Step => fact(of)) },
    { weight: 4, arbitrary: workerFact.map((of): Step => fact(of)) },
    { weight: 1, arbitrary: fc.constant<Step>({ kind: 'close', orderId: 0, commandId: 1 }) },
    { weight: 1, arbitrary: fc.constant<Step>({ kind: 'expire', orderId: 0, timerId: 1 }) },
  )
  return fc.tuple(fc.constantFrom(...orderIds), any).map(([orderId, one]) => ({ ...one, orderId }))
}

export const create = (orderId: number): Step => ({ kind: 'create', orderId })
export const nameOf = (step: Step) => `${step.orderId} ${step.kind === 'fact' ? factCause(step.fact) : step.kind}`

export interface Arrival {
  /** What came, in order: all parts but those that nobody asked for. */
  readonly steps: readonly Step[]
  readonly shop: Shop
  /** The ⇄ that it met. */
  readonly touched: ReadonlySet<CellName>
}

/**
 * Lets the parts come in the given order, one by one. A worker's report waits until the event that asked for it is out,
 * a command until the order is created; what is still not asked for at the end never comes.
 */
export function arrive(of: History, order: readonly Step[]): Arrival {
  const shop = shopOf(of)
  const steps: Step[] = []
  const waiting = [...order]
  const touched = touchedCells(() => {
    for (;;) {
      const next = waiting.findIndex((step) => isAskedFor(step, shop))
      if (next < 0) return
      const [step] = waiting.splice(next, 1)
      if (step === undefined) return
      steps.push(step)
      shop.play([step])
    }
  })
  return { steps, shop, touched: whereItMatters(of, touched) }
}

const REPORTS: ReadonlySet<FactKind> = new Set(['shipment_completed', 'fulfillment_failed', 'goods_returned'])
export const isReport = (step: Step) => step.kind === 'fact' && REPORTS.has(step.fact.eventType)

function isAskedFor(step: Step, shop: Shop): boolean {
  const { order, facts } = shop.row(step.orderId)
  if (step.kind === 'close' || step.kind === 'expire') return order.status !== 'awaited'
  if (!isReport(step) || step.kind !== 'fact') return true
  // Goods come back that were sent.
  if (step.fact.eventType === 'goods_returned')
    return [...facts.values()].some(({ eventType }) => eventType === 'shipment_completed')
  return shop.events.some(({ orderId, kind }) => orderId === step.orderId && kind === 'ship')
}

/**
 * A full refund before its payment and one after it differ in what workers do meanwhile, and in nothing else: where no
 * worker reports, the order and the net effect must be the same.
 */
export const whereItMatters = ({ parts }: History, touched: ReadonlySet<CellName>): ReadonlySet<CellName> =>
  parts.some(isReport) ? touched : new Set([...touched].filter((cell) => cell !== 'paid × refund_succeeded'))

/** What must be the same however the parts came. */
export function cameTo({ orderIds, parts }: History, shop: Shop) {
  return orderIds.map((orderId) => {
    const { order, anomalies, held } = shop.final(orderId)
    const own = shop.events.filter((event) => event.orderId === orderId)
    const kinds = parts.flatMap((step) => (step.orderId === orderId ? [step.kind] : []))
    // Of a close and an expiry, the first closes: no callback's delay comes into that.
    const closedBy = kinds.includes('close') && kinds.includes('expire') ? undefined : order.closedBy
    return { order: { ...order, closedBy }, anomalies, held, refunds: refundsOf(shop, orderId), net: netEffect(own) }
  })
}

/** What is known to be refunded, by payment. */
export function refundsOf(shop: Shop, orderId: number): Record<string, number> {
  const facts = [...shop.row(orderId).facts.values()].filter(({ outcome }) => outcome !== 'held')
  const payments = facts.filter(({ eventType }) => eventType === 'payment_succeeded')
  const refunds = facts.filter(({ eventType }) => eventType === 'refund_succeeded')
  return Object.fromEntries(
    payments
      .map(({ providerRef, currency }): [string, number] => [
        providerRef,
        refundedOf(refunds.filter((one) => one.paymentRef === providerRef && one.currency === currency)),
      ])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}
