import type { AuditedFact } from './audited-order.ts'

/**
 * What is known to be refunded of a payment, in minor units: max(sum of individual, max over cumulative c of c + the
 * individual ones later than it). Refunds that are held, or of another currency, do not count.
 */
export function refundedMinor(facts: readonly AuditedFact[], payment: AuditedFact): bigint {
  const refunds = facts.filter(
    ({ eventType, paymentRef, outcome, currency }) =>
      eventType === 'refund_succeeded' &&
      paymentRef === payment.providerRef &&
      outcome !== 'held' &&
      currency === payment.currency,
  )
  const individual = refunds.filter(({ amountKind }) => amountKind !== 'cumulative')
  const figures = refunds
    .filter(({ amountKind }) => amountKind === 'cumulative')
    .map(
      (figure) =>
        BigInt(figure.amountMinor) + sum(individual.filter(({ eventTimeMs }) => eventTimeMs > figure.eventTimeMs)),
    )
  return figures.reduce((most, minor) => (minor > most ? minor : most), sum(individual))
}

const sum = (facts: readonly AuditedFact[]) => facts.reduce((total, { amountMinor }) => total + BigInt(amountMinor), 0n)
