import { decideBatch } from '../../src/orders/decide-batch.ts'
import type { Decision, Item, KnownAnomaly, OrderView } from '../../src/orders/decision.ts'
import { factCause } from '../../src/orders/identity.ts'
import type {
  AmountKind,
  AnomalyKind,
  Fact,
  FactKind,
  FactOutcome,
  Order,
  Status,
  StoredFact,
} from '../../src/orders/model.ts'
import { DEFAULT_ROUTES } from '../../src/orders/routes.ts'

export const NOW_MS = Date.UTC(2026, 10, 11, 12)
export const EXPIRES_MS = NOW_MS - 60_000
export const AMOUNT = 10_000
/** The payment that moved the orders which are paid, shipped or refunded here. */
export const PAID_REF = 'wechatpay:paid'
export const OPTIONS = { now: new Date(NOW_MS), routes: DEFAULT_ROUTES, heldLimitMs: 86_400_000 }

/** Only what a test is about is said; the rest is as plain as can be. */
export function aFact(eventType: FactKind, changes: Partial<Fact> = {}): Fact {
  const isMoney = eventType === 'payment_succeeded' || eventType === 'refund_succeeded'
  return {
    eventType,
    providerRef: `${eventType}:1`,
    paymentRef: null,
    amountMinor: isMoney ? AMOUNT : 0,
    currency: isMoney ? 'CNY' : '',
    amountKind: eventType === 'refund_succeeded' ? 'individual' : 'none',
    eventTimeMs: NOW_MS - 10_000,
    detail: null,
    ...changes,
  }
}
export const aPayment = (providerRef: string, changes: Partial<Fact> = {}) =>
  aFact('payment_succeeded', { providerRef, ...changes })
export const aRefund = (
  paymentRef: string,
  amountMinor = AMOUNT,
  changes: Partial<Fact> & { amountKind?: AmountKind } = {},
) => aFact('refund_succeeded', { paymentRef, amountMinor, providerRef: `refund-of-${paymentRef}`, ...changes })

export const stored = (fact: Fact, outcome: FactOutcome = 'applied'): StoredFact => ({ ...fact, outcome })
export const open = (kind: AnomalyKind, fact: Fact, resolution: string | null = null): KnownAnomaly => ({
  id: 900,
  kind,
  cause: factCause(fact),
  resolution,
  owner: null,
  resolvedBy: resolution === null ? null : 'ann',
})

const PAID = stored(aPayment(PAID_REF))
const SHIPPED = stored(aFact('shipment_completed', { providerRef: 'worker:shipped' }))
const HISTORY: Record<Status, readonly StoredFact[]> = {
  awaited: [],
  pending: [],
  paid: [PAID],
  shipped: [PAID, SHIPPED],
  closed: [],
  refunded: [PAID, SHIPPED, stored(aRefund(PAID_REF))],
}

/** An order in a status, with the facts that brought it there (a refunded one was shipped before). */
export function orderIn(
  status: Status,
  changes: Partial<Order> = {},
  more: { facts?: readonly StoredFact[]; anomalies?: readonly KnownAnomaly[]; paidInGroup?: number } = {},
): OrderView {
  const facts = [...HISTORY[status], ...(more.facts ?? [])]
  const isPaid = status === 'paid' || status === 'shipped' || status === 'refunded'
  const isKnown = status !== 'awaited'
  const order: Order = {
    id: 1,
    merchant: 'shop',
    outTradeNo: 'A-1',
    status,
    amountMinor: isKnown ? AMOUNT : null,
    currency: isKnown ? 'CNY' : null,
    groupKey: null,
    acceptedRef: isPaid ? PAID_REF : null,
    paidAtMs: isPaid ? NOW_MS - 10_000 : null,
    closedBy: status === 'closed' ? 'merchant' : null,
    closedAtMs: status === 'closed' ? NOW_MS - 5_000 : null,
    expiresAtMs: isKnown ? EXPIRES_MS : null,
    version: 7,
    heldCount: facts.filter(({ outcome }) => outcome === 'held').length,
    sequence: isPaid ? 3 : 0,
    ...changes,
  }
  const { merchant, groupKey } = order
  const group = groupKey === null ? null : { merchant, groupKey, orderId: more.paidInGroup ?? null }
  return { order, facts, anomalies: more.anomalies ?? [], group }
}

export const fact = (of: Fact, orderId = 1): Item => ({ kind: 'fact', orderId, fact: of, receivedAtMs: NOW_MS })

export const decide = (view: OrderView, ...items: Item[]): Decision =>
  decideBatch(new Map([[view.order.id, view]]), items, OPTIONS)

/** What a decision about one order did, in the words of the tables. */
export function effectsOf(view: OrderView, decision: Decision) {
  return {
    outcomes: decision.outcomes.map((outcome) =>
      outcome.kind === 'anomaly' ? outcome.anomaly : outcome.kind === 'refused' ? outcome.refusal.reason : outcome.kind,
    ),
    status: decision.orders[0]?.status ?? view.order.status,
    events: decision.events.filter(({ sequence }) => sequence !== null).map(({ kind }) => kind),
    opened: decision.openedAnomalies.map(({ kind }) => kind),
    resolved: decision.resolvedAnomalies.map(({ kind, resolution }) => `${kind}: ${resolution}`),
  }
}
