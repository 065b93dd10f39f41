import type { ClosedBy, Fact, Resolution, Status } from '../../../src/orders/model.ts'

/** One event that must follow, as the topics' readers see it. */
export interface Expected {
  readonly order: string
  readonly kind: string
  readonly topic: string
  readonly sequence: number | null
  readonly cause: string
  readonly amountMinor: number | null
}

export interface Known {
  readonly fact: Fact
  outcome: 'held' | 'applied' | 'noted' | 'anomaly'
}
export interface ReferenceOrder {
  readonly key: string
  status: Status
  amountMinor: number | null
  currency: string | null
  groupKey: string | null
  expiresAtMs: number | null
  acceptedRef: string | null
  closedBy: ClosedBy | null
  sequence: number
  readonly facts: Map<string, Known>
  /** By `kind:cause`: how it was settled; null while it is open. */
  readonly anomalies: Map<string, string | null>
}

/**
 * What must become of orders, written a second time and in another way than `src/orders`: one order at a time, one fact
 * at a time, everything computed anew from the facts.
 */
export interface Reference {
  orders: Map<string, ReferenceOrder>
  /** By group: the order that is paid. */
  groups: Map<string, string>
}
export interface Work {
  readonly reference: Reference
  readonly order: ReferenceOrder
  readonly events: Expected[]
}

export const causeOf = ({ eventType, providerRef }: Pick<Fact, 'eventType' | 'providerRef'>) =>
  `${eventType}/${providerRef}`

const SHIPMENT = 'fulfillment.shipment.v1'
const INVENTORY = 'fulfillment.inventory.v1'
const POINTS = 'fulfillment.points.v1'
const TOPICS: Readonly<Record<string, readonly string[]>> = {
  ...{ ship: [SHIPMENT], cancel: [SHIPMENT], return: [SHIPMENT] },
  ...{ deduct: [INVENTORY], restore: [INVENTORY], unreserve: [INVENTORY] },
  ...{ grant: [POINTS], revoke: [POINTS], refund: [SHIPMENT, INVENTORY, POINTS] },
}

export function emit({ order, events }: Work, kind: string, cause: string, amountMinor: number | null = null): void {
  for (const topic of TOPICS[kind] ?? [])
    events.push({ order: order.key, kind, topic, sequence: ++order.sequence, cause, amountMinor })
}

const notice = ({ order, events }: Work, kind: string, anomaly: string) =>
  events.push({
    ...{ order: order.key, kind, topic: 'payments.anomaly.v1', sequence: null, cause: anomaly, amountMinor: null },
  })

export function open(work: Work, kind: string, cause: string): void {
  const identity = `${kind}:${cause}`
  if (work.order.anomalies.has(identity)) return
  work.order.anomalies.set(identity, null)
  notice(work, 'anomaly_opened', identity)
}

export function settleAnomaly(work: Work, identity: string, how: string): void {
  if (work.order.anomalies.get(identity) !== null) return
  work.order.anomalies.set(identity, how)
  notice(work, 'anomaly_resolved', identity)
}

/** The refunds of a payment that count, and what they come to: max(all individual, c + the individual later than c). */
export function refunded(order: ReferenceOrder, payment: Fact, counts: (known: Known) => boolean): number {
  const refunds = [...order.facts.values()]
    .filter((known) => counts(known))
    .map(({ fact }) => fact)
    .filter((fact) => fact.eventType === 'refund_succeeded' && fact.paymentRef === payment.providerRef)
    .filter(({ currency }) => currency === payment.currency)
  const individual = refunds.filter(({ amountKind }) => amountKind === 'individual')
  const sum = (facts: readonly Fact[]) => facts.reduce((total, { amountMinor }) => total + amountMinor, 0)
  const figures = refunds
    .filter(({ amountKind }) => amountKind === 'cumulative')
    .map((c) => c.amountMinor + sum(individual.filter(({ eventTimeMs }) => eventTimeMs > c.eventTimeMs)))
  return Math.max(sum(individual), 0, ...figures)
}

export const otherPaid = ({ reference, order }: Work): string | undefined => {
  const paid = order.groupKey === null ? undefined : reference.groups.get(order.groupKey)
  return paid === order.key ? undefined : paid
}

/** From here on `payment` is the order's. */
export function beginPaid(work: Work, payment: Fact, cause: string): void {
  const { order, reference } = work
  order.acceptedRef = payment.providerRef
  order.closedBy = null
  if (refunded(order, payment, () => true) >= payment.amountMinor) {
    order.status = 'refunded'
    return
  }
  order.status = 'paid'
  if (order.groupKey !== null) reference.groups.set(order.groupKey, order.key)
  for (const kind of ['ship', 'deduct', 'grant']) emit(work, kind, cause, payment.amountMinor)
  const before = refunded(order, payment, ({ outcome }) => outcome !== 'held')
  if (before > 0) emit(work, 'refund', cause, before)
}

export function close(work: Work, by: ClosedBy, cause: string): void {
  work.order.status = 'closed'
  work.order.closedBy = by
  emit(work, 'unreserve', cause)
}

/** An operator's answer. */
export function answer(work: Work, identity: string, resolution: Resolution, actor: string): void {
  const { order } = work
  if (order.anomalies.get(identity) !== null) return
  const colon = identity.indexOf(':')
  const [kind, cause] = [identity.slice(0, colon), identity.slice(colon + 1)]
  const isPayment =
    ['double_payment', 'paid_after_close', 'paid_after_refund', 'amount_mismatch'].includes(kind) &&
    cause.startsWith('payment_succeeded/')
  const revival = (
    { pending: 'accept_payment', closed: 'accept_payment', refunded: 'reopen' } as Partial<Record<Status, Resolution>>
  )[order.status]
  const allowed: Resolution[] = ['ignore']
  if (isPayment || kind === 'refund_failed') allowed.push('refund_outside')
  if (isPayment && revival !== undefined) allowed.push(revival)
  if (!allowed.includes(resolution)) return
  if (resolution === revival) {
    const payment = order.facts.get(cause)?.fact
    if (otherPaid(work) !== undefined || payment === undefined) return
    beginPaid(work, payment, `resolve:${cause}`)
  }
  settleAnomaly(work, identity, `${resolution} by ${actor}`)
}
