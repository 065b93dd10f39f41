import type { DecideOptions, KnownAnomaly, NewEvent, OrderView } from './decision.ts'
import { factCause } from './identity.ts'
import type { AnomalyKind, Fact, FactOutcome, Group, Order } from './model.ts'
import { addRefund, emptyTally, type RefundTally } from './refund-tally.ts'

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** What an effect follows from: `cause` goes into the event's id. */
export interface Trigger {
  readonly cause: string
  readonly occurredAtMs: number
  /** When the callback reached the gateway; null for commands and for facts that were held. */
  readonly receivedAtMs: number | null
}

/** A fact of the order. While its cell runs it is still `held`: it is known only after that. */
export interface FactEntry {
  readonly fact: Fact
  trigger: Trigger
  outcome: FactOutcome
  /** What Postgres has; null: nothing yet. */
  readonly stored: FactOutcome | null
}

export interface AnomalyEntry {
  /** Null: opened by this batch. */
  readonly id: number | null
  readonly kind: AnomalyKind
  readonly cause: string
  /** JSON; empty for one that was known before. */
  readonly facts: string
  readonly owner: string | null
  resolution: string | null
  reason: string | null
  resolvedBy: string | null
  readonly wasOpen: boolean
}

/** One order while its batch is decided: a copy of the view, indexed, that the cells change. */
export interface OrderWork {
  readonly batch: BatchWork
  readonly order: Writable<Order>
  readonly facts: Map<string, FactEntry>
  readonly anomalies: Map<string, AnomalyEntry>
  /** By payment; held ones too. */
  readonly refunds: Map<string, FactEntry[]>
  readonly tallies: Map<string, RefundTally>
  readonly group: { value: Group; changed: boolean } | null
  readonly versionBefore: number
  triedHeld: boolean
  /** The order left `pending`, or its timer fired. */
  expiryDone: boolean
  /** Causes of held facts whose timer has fired. */
  readonly limitsReached: Set<string>
}

export interface BatchWork {
  readonly options: DecideOptions
  readonly nowMs: number
  readonly orders: Map<number, OrderWork>
  readonly groups: Map<string, { value: Group; changed: boolean }>
  readonly events: NewEvent[]
}

export const anomalyIdentity = (kind: AnomalyKind, cause: string) => `${kind}:${cause}`

export function openWork(batch: BatchWork, view: OrderView): OrderWork {
  const work: OrderWork = {
    batch,
    order: { ...view.order },
    facts: new Map(),
    anomalies: new Map(),
    refunds: new Map(),
    tallies: new Map(),
    group: groupOf(batch, view),
    versionBefore: view.order.version,
    triedHeld: false,
    expiryDone: false,
    limitsReached: new Set(),
  }
  for (const fact of view.facts) addFact(work, fact, null, fact.outcome)
  for (const anomaly of view.anomalies) addKnownAnomaly(work, anomaly)
  return work
}

export function addFact(work: OrderWork, fact: Fact, receivedAtMs: number | null, stored: FactOutcome | null) {
  const cause = factCause(fact)
  const trigger = { cause, occurredAtMs: fact.eventTimeMs, receivedAtMs }
  const entry: FactEntry = { fact, trigger, outcome: stored ?? 'held', stored }
  work.facts.set(cause, entry)
  if (fact.eventType === 'refund_succeeded' && fact.paymentRef !== null) {
    const others = work.refunds.get(fact.paymentRef)
    if (others === undefined) work.refunds.set(fact.paymentRef, [entry])
    else others.push(entry)
  }
  return entry
}

/** The payment, if it is known: held ones are not. */
export function knownPayment(work: OrderWork, ref: string): Fact | undefined {
  const entry = work.facts.get(factCause({ eventType: 'payment_succeeded', providerRef: ref }))
  return entry === undefined || entry.outcome === 'held' ? undefined : entry.fact
}

/** What is known to be refunded of a payment; another currency's refund is an anomaly and does not count. */
export function tallyOf(work: OrderWork, payment: Fact): RefundTally {
  const known = work.tallies.get(payment.providerRef)
  if (known !== undefined) return known
  const tally = emptyTally()
  for (const { fact, outcome } of work.refunds.get(payment.providerRef) ?? [])
    if (outcome !== 'held' && fact.currency === payment.currency) addRefund(tally, fact)
  work.tallies.set(payment.providerRef, tally)
  return tally
}

function addKnownAnomaly(work: OrderWork, known: KnownAnomaly) {
  const entry = { ...known, facts: '', reason: null, wasOpen: known.resolution === null }
  work.anomalies.set(anomalyIdentity(known.kind, known.cause), entry)
}

/** Orders of one group share it, so that the second payment in a batch sees the first. */
function groupOf(batch: BatchWork, { order: { merchant, groupKey }, group }: OrderView) {
  if (groupKey === null) return null
  const key = `${merchant.length}:${merchant}${groupKey}`
  const shared = batch.groups.get(key) ?? { value: group ?? { merchant, groupKey, orderId: null }, changed: false }
  batch.groups.set(key, shared)
  return shared
}
