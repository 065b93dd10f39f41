import type { DecodedFact } from './avro.ts'

/** An event that must follow, as far as the documented table says it. */
export interface ExpectedEvent {
  readonly kind: string
  readonly topic: string
  readonly cause: string
  readonly sequence: number | null
  readonly amountMinor: number | null
  readonly currency: string | null
  readonly paymentRef: string | null
}
/** An order's whole state, in the words of docs/order-states.md. */
export interface End {
  readonly status: string
  readonly acceptedRef: string | null
  readonly closedBy: string | null
  readonly sequence: number
  /** `kind/reference amount currency amountKind outcome`, sorted. */
  readonly facts: readonly string[]
  readonly events: readonly ExpectedEvent[]
  /** `kind:cause open|closed`, sorted. */
  readonly anomalies: readonly string[]
}
export type Step =
  | { readonly kind: 'create'; readonly amountMinor: number; readonly currency: string }
  | { readonly kind: 'close' }
  | { readonly kind: 'message'; readonly facts: readonly DecodedFact[] }

interface Known {
  readonly fact: DecodedFact
  outcome: 'held' | 'applied' | 'noted' | 'anomaly'
}

const TOPICS: Readonly<Record<string, readonly string[]>> = {
  ...{ ship: ['shipment'], cancel: ['shipment'], return: ['shipment'], grant: ['points'], revoke: ['points'] },
  ...{ deduct: ['inventory'], restore: ['inventory'], unreserve: ['inventory'] },
  refund: ['shipment', 'inventory', 'points'],
}
/** At the same moment payments go first: the order of the documented table's columns. */
const COLUMNS = [
  ...['payment_succeeded', 'payment_failed', 'refund_succeeded', 'refund_failed', 'disputed', 'provider_closed'],
  ...['shipment_completed', 'fulfillment_failed', 'goods_returned', 'bill_differs'],
]
/** What a payment can be instead of moving the order; its full refund settles it. */
const OF_PAYMENTS = ['double_payment', 'paid_after_close', 'paid_after_refund', 'amount_mismatch']
/** Cells of the table that only raise an anomaly. */
const RAISED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  provider_closed: { paid: 'closed_after_payment' },
  shipment_completed: { pending: 'shipped_unpaid', closed: 'shipped_closed', refunded: 'shipped_refunded' },
  fulfillment_failed: { paid: 'fulfillment_failed', shipped: 'fulfillment_failed' },
  ...Object.fromEntries(
    ['refund_failed', 'disputed', 'bill_differs'].map((kind) => [
      kind,
      Object.fromEntries(['pending', 'paid', 'shipped', 'closed', 'refunded'].map((status) => [status, kind])),
    ]),
  ),
}
const causeOf = ({ eventType, providerRef }: DecodedFact) => `${eventType}/${providerRef}`

/** Replays an order by the documented table. No groups, expiry, brakes or operators: none of them is in the load. */
export function replay(steps: readonly Step[]): End {
  let status = 'awaited'
  let [amountMinor, currency] = [0, '']
  let acceptedRef: string | null = null
  let closedBy: string | null = null
  let sequence = 0
  const facts = new Map<string, Known>()
  const anomalies = new Map<string, boolean>()
  const events: ExpectedEvent[] = []

  const emit = (cause: string, money: { amount: number; of: DecodedFact } | null, ...kinds: readonly string[]) => {
    for (const kind of kinds)
      for (const topic of TOPICS[kind] ?? []) {
        const about = { kind, topic: `fulfillment.${topic}.v1`, cause, sequence: ++sequence }
        const paid = { currency: money?.of.currency ?? null, paymentRef: money?.of.providerRef ?? null }
        events.push({ ...about, amountMinor: money?.amount ?? null, ...paid })
      }
  }
  const notice = (kind: string, anomaly: string) =>
    events.push({
      ...{ kind, topic: 'payments.anomaly.v1', cause: anomaly, sequence: null },
      ...{ amountMinor: null, currency: null, paymentRef: null },
    })
  const raise = (kind: string, cause: string) => {
    const name = `${kind}:${cause}`
    if (!anomalies.has(name)) {
      anomalies.set(name, true)
      notice('anomaly_opened', name)
    }
    return 'anomaly' as const
  }
  const close = (by: string, cause: string) => {
    status = 'closed'
    closedBy = by
    emit(cause, null, 'unreserve')
  }
  const refundsOf = (payment: DecodedFact, outcomes: readonly Known['outcome'][]) =>
    [...facts.values()]
      .filter(({ fact, outcome }) => fact.eventType === 'refund_succeeded' && outcomes.includes(outcome))
      .map(({ fact }) => fact)
      .filter((fact) => fact.paymentRef === payment.providerRef && fact.currency === payment.currency)

  const pay = (fact: DecodedFact): Known['outcome'] => {
    const cause = causeOf(fact)
    if (fact.amountMinor !== amountMinor || fact.currency !== currency) return raise('amount_mismatch', cause)
    if (status === 'closed') return raise('paid_after_close', cause)
    if (status === 'refunded') return raise('paid_after_refund', cause)
    if (status !== 'pending') return raise('double_payment', cause)
    acceptedRef = fact.providerRef
    closedBy = null
    if (refundedBy(refundsOf(fact, ['held'])) >= fact.amountMinor) status = 'refunded'
    else {
      status = 'paid'
      emit(cause, { amount: fact.amountMinor, of: fact }, 'ship', 'deduct', 'grant')
    }
    return 'applied'
  }
  const refund = (fact: DecodedFact): Known['outcome'] => {
    const known = facts.get(`payment_succeeded/${fact.paymentRef ?? ''}`)
    if (known === undefined || known.outcome === 'held') return 'held'
    const { fact: payment } = known
    if (fact.currency !== payment.currency) return raise('amount_mismatch', causeOf(fact))
    const before = refundsOf(payment, ['applied', 'noted', 'anomaly'])
    const [had, has] = [refundedBy(before), refundedBy([...before, fact])]
    const over = () => raise('over_refund', causeOf(payment))
    if (payment.providerRef !== acceptedRef) {
      if (has === had) return 'noted'
      const name = OF_PAYMENTS.map((kind) => `${kind}:${causeOf(payment)}`).find((one) => anomalies.has(one))
      const wasOpen = name !== undefined && anomalies.get(name) === true
      if (wasOpen && has >= payment.amountMinor) {
        anomalies.set(name, false)
        notice('anomaly_resolved', name)
      }
      if (has > payment.amountMinor) return over()
      if (wasOpen) return has === payment.amountMinor ? 'applied' : 'noted'
      return raise('refund_of_unaccepted_payment', causeOf(fact))
    }
    if (status === 'refunded') return has > had && has > payment.amountMinor ? over() : 'noted'
    const money = { amount: has - had, of: payment }
    if (has < payment.amountMinor) {
      if (has === had) return 'noted'
      emit(causeOf(fact), money, 'refund')
      return 'applied'
    }
    const wasShipped = status === 'shipped'
    status = 'refunded'
    emit(causeOf(fact), money, ...(wasShipped ? ['return', 'revoke'] : ['cancel', 'restore', 'revoke']))
    return has > payment.amountMinor ? over() : 'applied'
  }
  const applied = (kind: string) =>
    [...facts.values()].filter(({ fact, outcome }) => fact.eventType === kind && outcome === 'applied').length
  const decide = (fact: DecodedFact): Known['outcome'] => {
    const cause = causeOf(fact)
    if (status === 'awaited') return 'held'
    if (fact.eventType === 'payment_succeeded') return pay(fact)
    if (fact.eventType === 'refund_succeeded') return refund(fact)
    const anomaly = RAISED[fact.eventType]?.[status]
    if (anomaly !== undefined) return raise(anomaly, cause)
    if (fact.eventType === 'provider_closed' && status === 'pending') {
      close('provider', cause)
      return 'applied'
    }
    if (fact.eventType === 'shipment_completed' && status === 'paid') {
      status = 'shipped'
      return 'applied'
    }
    const isBack = fact.eventType === 'goods_returned' && ['shipped', 'refunded'].includes(status)
    if (!isBack || applied('goods_returned') >= applied('shipment_completed')) return 'noted'
    emit(cause, null, 'restore')
    return 'applied'
  }
  const settle = (known: Known) => {
    known.outcome = decide(known.fact)
    if (known.fact.eventType !== 'payment_succeeded' || known.outcome === 'held') return
    tryHeld(
      [...facts.values()].filter(
        ({ fact }) => fact.paymentRef === known.fact.providerRef && fact.eventType === 'refund_succeeded',
      ),
    )
  }
  const tryHeld = (some: readonly Known[]) => {
    const rank = ({ fact }: Known) => COLUMNS.indexOf(fact.eventType)
    const sorted = some
      .filter(({ outcome }) => outcome === 'held')
      .sort(
        (a, b) =>
          a.fact.eventTimeMs - b.fact.eventTimeMs ||
          rank(a) - rank(b) ||
          (a.fact.providerRef < b.fact.providerRef ? -1 : 1),
      )
    for (const known of sorted) if (known.outcome === 'held') settle(known)
  }
  for (const step of steps) {
    if (step.kind === 'create') {
      if (status !== 'awaited') continue
      ;[status, amountMinor, currency] = ['pending', step.amountMinor, step.currency]
      tryHeld([...facts.values()])
    } else if (step.kind === 'close') {
      if (status === 'pending') close('merchant', 'close')
    } else
      for (const fact of step.facts) {
        const known = facts.get(causeOf(fact))
        if (known === undefined) {
          const fresh: Known = { fact, outcome: 'held' }
          facts.set(causeOf(fact), fresh)
          settle(fresh)
        } else if (!isSame(known.fact, fact)) raise('conflicting_fact', causeOf(fact))
      }
  }
  return {
    ...{ status, acceptedRef, closedBy, sequence, events },
    facts: [...facts.values()].map(({ fact, outcome }) => sayFact(fact, outcome)).sort(),
    anomalies: [...anomalies].map(([name, isOpen]) => `${name} ${isOpen ? 'open' : 'closed'}`).sort(),
  }
}

const isSame = (a: DecodedFact, b: DecodedFact) =>
  a.amountMinor === b.amountMinor && a.currency === b.currency && a.amountKind === b.amountKind

export const sayFact = (fact: DecodedFact, outcome: string) =>
  `${causeOf(fact)} ${fact.amountMinor} ${fact.currency} ${fact.amountKind} ${outcome}`

/** The greater of the sum of the individual refunds and, over the cumulative figures, the figure plus later ones. */
function refundedBy(refunds: readonly DecodedFact[]): number {
  const individual = refunds.filter(({ amountKind }) => amountKind === 'individual')
  const sum = (some: readonly DecodedFact[]) => some.reduce((total, { amountMinor }) => total + amountMinor, 0)
  const figures = refunds.filter(({ amountKind }) => amountKind === 'cumulative')
  const later = ({ eventTimeMs }: DecodedFact) => individual.filter((one) => one.eventTimeMs > eventTimeMs)
  return Math.max(sum(individual), ...figures.map((figure) => figure.amountMinor + sum(later(figure))))
}
