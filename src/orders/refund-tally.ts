import type { Fact } from './model.ts'

type RefundFact = Pick<Fact, 'amountMinor' | 'amountKind' | 'eventTimeMs' | 'paymentRef'>

/**
 * How much later than a figure a refund may seem that the figure contains. Alipay's notice, query and bill time one
 * refund by different steps of it, up to seconds apart. Refunds of one trade are at least 3 s apart
 * (https://developer.aliyun.com/article/707647), and one counts in whole seconds: the next is over 2 s later.
 */
const ALIPAY_SLACK_MS = 2_000
const slackMsOf = ({ paymentRef }: RefundFact) => (paymentRef?.startsWith('alipay:') ? ALIPAY_SLACK_MS : 0)

/**
 * What was refunded of one payment: max(sum of individual, max over cumulative c of c + the individual ones later
 * than it). It depends on the set of refunds only, not on the order in which they became known. Minor units, as BigInt:
 * a sum may pass 2^53.
 */
export interface RefundTally {
  totalMinor: bigint
  individualMinor: bigint
  readonly individuals: { readonly minor: bigint; readonly atMs: number }[]
  /** `minor`: the figure and the individual refunds later than it; `untilMs`: what is not later than that is in it. */
  readonly cumulatives: { minor: bigint; readonly untilMs: number }[]
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
    const untilMs = atMs + slackMsOf(refund)
    const later = tally.individuals.filter((individual) => individual.atMs > untilMs)
    tally.cumulatives.push({ minor: later.reduce((sum, individual) => sum + individual.minor, minor), untilMs })
  } else {
    tally.individuals.push({ minor, atMs })
    tally.individualMinor += minor
    for (const cumulative of tally.cumulatives) if (cumulative.untilMs < atMs) cumulative.minor += minor
  }
  tally.totalMinor = tally.cumulatives.reduce((max, { minor }) => (minor > max ? minor : max), tally.individualMinor)
  return tally.totalMinor - before
}
