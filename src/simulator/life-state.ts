import type { Fact, Status } from '../orders/model.ts'

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

/** An order while its life is told. */
export interface Life {
  status: End['status']
  amountMinor: number
  currency: string
  paymentRef: string | null
  readonly facts: Map<string, { readonly fact: LifeFact; held: boolean; applied: boolean }>
  /** By kind and cause; true: open. */
  readonly anomalies: Map<string, boolean>
  readonly events: Record<string, number>
}

export const causeOf = ({ eventType, providerRef }: LifeFact) => `${eventType}/${providerRef}`

/** The refunds of a payment that still wait for it, or those that have been told. */
export const refundsOf = (life: Life, paymentRef: string, held: boolean): LifeFact[] =>
  [...life.facts.values()]
    .filter((entry) => entry.held === held && entry.fact.eventType === 'refund_succeeded')
    .map(({ fact }) => fact)
    .filter((fact) => fact.paymentRef === paymentRef)

/** Once raised it is never raised again, settled or not. */
export function raise(life: Life, kind: string, cause: string) {
  const name = `${kind}:${cause}`
  if (!life.anomalies.has(name)) life.anomalies.set(name, true)
}

export const emit = (life: Life, ...kinds: readonly string[]) => {
  for (const kind of kinds) life.events[kind] = (life.events[kind] ?? 0) + 1
}

export function close(life: Life) {
  if (life.status !== 'pending') return
  life.status = 'closed'
  emit(life, 'unreserve')
}
