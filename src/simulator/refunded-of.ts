import type { Fact } from '../orders/model.ts'

/**
 * What a set of refunds of one payment comes to, in minor units: the sum of the individual ones, or, if that is more,
 * a cumulative figure and the individual ones that are later than it.
 */
export function refundedOf(refunds: readonly Pick<Fact, 'amountMinor' | 'amountKind' | 'eventTimeMs'>[]): number {
  const individual = refunds.filter(({ amountKind }) => amountKind === 'individual')
  const sum = (some: readonly { amountMinor: number }[]) =>
    some.reduce((total, { amountMinor }) => total + amountMinor, 0)
  const figures = refunds
    .filter(({ amountKind }) => amountKind === 'cumulative')
    .map((figure) => figure.amountMinor + sum(individual.filter(({ eventTimeMs }) => eventTimeMs > figure.eventTimeMs)))
  return Math.max(sum(individual), ...figures)
}
