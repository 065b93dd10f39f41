import type { Fact } from './model.ts'

type RefundFact = Pick<Fact, 'amountMinor' | 'amountKind' | 'eventTimeMs'>

/**
 * What was refunded of one payment: max(sum of individual, max over cumulative c of c + the individual ones later
 * than it). It depends on the set of refunds only, not on the order in which they became known. Minor units, as BigInt:
 * a sum may pass 2^53.
 */
export interface RefundTally {
  totalMinor: bigint
  individualMinor: bigint
  readonly individuals: { readonly minor: bigint; readonly atMs: number }[]
  /** `minor`: the figure and the individual refunds later than it. */
  readonly cumulatives: { minor: bigint; readonly atMs: number }[]
}

export const emptyTally = (): RefundTally => ({
  totalMinor: 0n,
  individualMinor: 0n,
  individuals: [],
  cumulatives: [],
})

/** Adds a refund and returns by how much the total grew: 0 where a cumulative figure covered it already. */
export function addRefund(tally: RefundTally, refund: RefundFact): bigint {
  const before = tally.totalMinor
  const minor = BigInt(refund.amountMinor)
  const atMs = refund.eventTimeMs
  if (refund.amountKind === 'cumulative') {
    const later = tally.individuals.filter((individual) => individual.atMs > atMs)
    tally.cumulatives.push({ minor: later.reduce((sum, individual) => sum + individual.minor, minor), atMs })
  } else {
    tally.individuals.push({ minor, atMs })
    tally.individualMinor += minor
    for (const cumulative of tally.cumulatives) if (cumulative.atMs < atMs) cumulative.minor += minor
  }
  tally.totalMinor = tally.cumulatives.reduce((max, { minor }) => (minor > max ? minor : max), tally.individualMinor)
  return tally.totalMinor - before
}
