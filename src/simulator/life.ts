import { FACT_KINDS, type Fact, type FactKind, type Status } from '../orders/model.ts'
import { refundedOf } from './refunded-of.ts'

/** What happens to an order, as somebody outside can see it. */
export type Step =
  | { readonly kind: 'create'; readonly amountMinor: number; readonly currency: string }
  | { readonly kind: 'close' }
  /** One message; its facts count in their order. */
  | { readonly kind: 'message'; readonly facts: readonly LifeFact[] }
export type LifeFact = Omit<Fact, 'detail'>

/** What an order has come to. */
export interface End {
  /** `none`: nobody has ever heard of it. */
  readonly status: Status | 'none'
  /** Of the payment that the order is paid by; null: it was never rightly paid. */
  readonly paymentRef: string | null
  readonly refundedMinor: number
  /** Kinds, sorted; one per anomaly that nobody has settled. */
  readonly openAnomalies: readonly string[]
  /** How often workers hear of each kind of event; one that goes to three topics counts three times. */
  readonly events: Readonly<Record<string, number>>
}

interface Life {
  status: End['status']
  amountMinor: number
  currency: string
  paymentRef: string | null
  readonly facts: Map<string, { readonly fact: LifeFact; held: boolean; applied: boolean }>
  /** By kind and cause; true: open. */
  readonly anomalies: Map<string, boolean>
  readonly events: Record<string, number>
}

/**
 * Tells an order's life from docs/order-states.md once more, in its own words: nothing of it is shared with the
 * processor, so that one can be held against the other. Without groups, expiry and operators, of whom no sender knows.
 */
export function endOf(steps: readonly Step[]): End {
  const life: Life = {
    ...{ status: 'none', amountMinor: 0, currency: '', paymentRef: null },
    ...{ facts: new Map(), anomalies: new Map(), events: {} },
  }
  for (const step of steps) {
    if (step.kind === 'create') create(life, step.amountMinor, step.currency)
    else if (step.kind === 'close') close(life)
    else for (const fact of step.facts) hear(life, fact)
  }
  const open = [...life.anomalies].flatMap(([name, isOpen]) => (isOpen ? [name.slice(0, name.indexOf(':'))] : []))
  return {
    ...{ status: life.status, paymentRef: life.paymentRef, openAnomalies: open.sort() },
    events: Object.fromEntries(Object.entries(life.events).sort(([a], [b]) => (a < b ? -1 : 1))),
    refundedMinor: life.paymentRef === null ? 0 : refundedOf(refundsOf(life, life.paymentRef, false)),
  }
}

const causeOf = ({ eventType, providerRef }: LifeFact) => `${eventType}/${providerRef}`

function create(life: Life, amountMinor: number, currency: string) {
  if (life.status !== 'none' && life.status !== 'awaited') return
  Object.assign(life, { status: 'pending', amountMinor, currency })
  settleHeld(
    life,
    [...life.facts.values()].map(({ fact }) => fact),
  )
}

function close(life: Life) {
  if (life.status !== 'pending') return
  life.status = 'closed'
  emit(life, 'unreserve')
}

function hear(life: Life, fact: LifeFact) {
  if (life.status === 'none') life.status = 'awaited'
  const known = life.facts.get(causeOf(fact))?.fact
  if (known === undefined) {
    life.facts.set(causeOf(fact), { fact, held: true, applied: false })
    settle(life, fact)
  } else if (
    known.amountMinor !== fact.amountMinor ||
    known.currency !== fact.currency ||
    known.amountKind !== fact.amountKind
  )
    raise(life, 'conflicting_fact', causeOf(known))
}

/** In the order in which they happened at the provider. */
function settleHeld(life: Life, facts: readonly LifeFact[]) {
  const rank = ({ eventType }: LifeFact) => FACT_KINDS.indexOf(eventType)
  const sorted = facts.toSorted(
    (a, b) => a.eventTimeMs - b.eventTimeMs || rank(a) - rank(b) || (a.providerRef < b.providerRef ? -1 : 1),
  )
  for (const fact of sorted) if (life.facts.get(causeOf(fact))?.held === true) settle(life, fact)
}

function settle(life: Life, fact: LifeFact) {
  const entry = life.facts.get(causeOf(fact))
  if (entry === undefined || life.status === 'awaited' || life.status === 'none') return
  if (fact.eventType === 'refund_succeeded') {
    const payment = life.facts.get(`payment_succeeded/${fact.paymentRef}`)
    if (payment === undefined || payment.held) return
    refund(life, fact, payment.fact)
    entry.held = false
    return
  }
  if (fact.eventType === 'payment_succeeded') {
    pay(life, fact)
    entry.held = false
    settleHeld(life, refundsOf(life, fact.providerRef, true))
    return
  }
  entry.applied = tellOther(life, fact)
  entry.held = false
}

function pay(life: Life, fact: LifeFact) {
  const cause = causeOf(fact)
  if (fact.amountMinor !== life.amountMinor || fact.currency !== life.currency) raise(life, 'amount_mismatch', cause)
  else if (life.status === 'closed') raise(life, 'paid_after_close', cause)
  else if (life.status === 'refunded') raise(life, 'paid_after_refund', cause)
  else if (life.status !== 'pending') raise(life, 'double_payment', cause)
  else {
    life.paymentRef = fact.providerRef
    const waiting = refundsOf(life, fact.providerRef, true)
    const isGone = refundedOf(waiting.filter(({ currency }) => currency === fact.currency)) >= fact.amountMinor
    life.status = isGone ? 'refunded' : 'paid'
    if (!isGone) emit(life, 'ship', 'deduct', 'grant')
  }
}

function refund(life: Life, fact: LifeFact, payment: LifeFact) {
  if (fact.currency !== payment.currency) {
    raise(life, 'amount_mismatch', causeOf(fact))
    return
  }
  const settled = refundsOf(life, payment.providerRef, false)
  const [before, after] = [refundedOf(settled), refundedOf([...settled, fact])]
  const isOver = after > payment.amountMinor
  if (payment.providerRef !== life.paymentRef) {
    refundOther(life, fact, payment, before, after)
    return
  }
  if (life.status === 'refunded') {
    if (after > before && isOver) raise(life, 'over_refund', causeOf(payment))
    return
  }
  if (after < payment.amountMinor) {
    if (after > before) emit(life, 'refund', 'refund', 'refund')
    return
  }
  if (life.status === 'shipped') emit(life, 'return', 'revoke')
  else emit(life, 'cancel', 'restore', 'revoke')
  life.status = 'refunded'
  if (isOver) raise(life, 'over_refund', causeOf(payment))
}

/** Of a payment that never counted: its anomaly ends with the last of the money. */
function refundOther(life: Life, fact: LifeFact, payment: LifeFact, before: number, after: number) {
  if (after === before) return
  const anomaly = ['double_payment', 'paid_after_close', 'paid_after_refund', 'amount_mismatch']
    .map((kind) => `${kind}:${causeOf(payment)}`)
    .find((name) => life.anomalies.has(name))
  const wasOpen = anomaly !== undefined && life.anomalies.get(anomaly) === true
  if (wasOpen && after >= payment.amountMinor) life.anomalies.set(anomaly, false)
  if (after > payment.amountMinor) raise(life, 'over_refund', causeOf(payment))
  else if (!wasOpen) raise(life, 'refund_of_unaccepted_payment', causeOf(fact))
}

/** @returns whether it changed the order, or its stock */
function tellOther(life: Life, fact: LifeFact): boolean {
  const { status } = life
  const anomalyOf: Partial<Record<FactKind, Partial<Record<End['status'], string>>>> = {
    provider_closed: { paid: 'closed_after_payment' },
    shipment_completed: { pending: 'shipped_unpaid', closed: 'shipped_closed', refunded: 'shipped_refunded' },
    fulfillment_failed: { paid: 'fulfillment_failed', shipped: 'fulfillment_failed' },
  }
  const anomaly =
    fact.eventType === 'refund_failed' || fact.eventType === 'disputed'
      ? fact.eventType
      : anomalyOf[fact.eventType]?.[status]
  if (anomaly !== undefined) raise(life, anomaly, causeOf(fact))
  if (fact.eventType === 'provider_closed' && status === 'pending') close(life)
  if (fact.eventType === 'shipment_completed' && status === 'paid') {
    life.status = 'shipped'
    return true
  }
  if (fact.eventType !== 'goods_returned' || (status !== 'shipped' && status !== 'refunded')) return false
  const times = (kind: FactKind) =>
    [...life.facts.values()].filter(({ fact: { eventType }, applied }) => applied && eventType === kind).length
  const isNew = times('goods_returned') < times('shipment_completed')
  if (isNew) emit(life, 'restore')
  return isNew
}

const refundsOf = (life: Life, paymentRef: string, held: boolean): LifeFact[] =>
  [...life.facts.values()]
    .filter((entry) => entry.held === held && entry.fact.eventType === 'refund_succeeded')
    .map(({ fact }) => fact)
    .filter((fact) => fact.paymentRef === paymentRef)

/** Once raised it is never raised again, settled or not. */
function raise(life: Life, kind: string, cause: string) {
  const name = `${kind}:${cause}`
  if (!life.anomalies.has(name)) life.anomalies.set(name, true)
}

const emit = (life: Life, ...kinds: readonly string[]) => {
  for (const kind of kinds) life.events[kind] = (life.events[kind] ?? 0) + 1
}
