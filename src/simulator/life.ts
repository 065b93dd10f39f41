import { FACT_KINDS } from '../orders/model.ts'
import { tellOther } from './life-other.ts'
import { refund } from './life-refund.ts'
import { causeOf, close, emit, raise, refundsOf, type End, type Life, type LifeFact } from './life-state.ts'
import { refundedOf } from './refunded-of.ts'

/** What happens to an order, as somebody outside can see it. */
export type Step =
  | { readonly kind: 'create'; readonly amountMinor: number; readonly currency: string }
  | { readonly kind: 'close' }
  /** One message; its facts count in their order. */
  | { readonly kind: 'message'; readonly facts: readonly LifeFact[] }

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

function create(life: Life, amountMinor: number, currency: string) {
  if (life.status !== 'none' && life.status !== 'awaited') return
  Object.assign(life, { status: 'pending', amountMinor, currency })
  settleHeld(
    life,
    [...life.facts.values()].map(({ fact }) => fact),
  )
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
