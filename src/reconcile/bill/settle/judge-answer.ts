import type { Fact } from '../../../orders/model.ts'
import type { BillFinding, FindingState } from '../finding.ts'

export interface JudgedAnswer {
  readonly state: FindingState
  readonly detail: string
  /** Whether it may hold something that is not known here. What is known is a duplicate there. */
  readonly isNews: boolean
}

/**
 * What a provider's proven answer makes of a finding. Pure.
 * @param facts all that the answer proves; none: nothing is paid or through
 */
export function judgeAnswer(finding: BillFinding, facts: readonly Fact[]): JudgedAnswer {
  const about = facts.find((fact) => isAbout(finding, fact))
  const says = (state: FindingState, what: string, isNews: boolean) => ({
    ...{ state, detail: `the provider, asked about it, ${what}`, isNews },
  })
  if (facts.length === 0)
    return finding.finding === 'refund_unsettled'
      ? says('open', 'says that it is under way still', false)
      : says('denied', 'says that nothing is paid or through', false)
  if (about === undefined) return says('denied', 'told something else, which is published', true)
  if (!isKnownHere(finding, about)) return says('published', 'confirmed it', true)
  const isNews = facts.length > 1
  // It waits here for its order or its payment, and no answer brings that.
  if (finding.here?.status === 'held') return says('open', 'confirmed it', isNews)
  return says('confirmed', 'says what is known here', isNews)
}

/** A number alone will not do: under that of a trade Alipay also says that it was closed. */
const isAbout = ({ what, ref }: BillFinding, { eventType, providerRef }: Fact) =>
  providerRef === ref && eventType === (what === 'refund' ? 'refund_succeeded' : 'payment_succeeded')

/** What failed here, and went through there, is not known. */
const isKnownHere = ({ here }: BillFinding, { amountMinor, currency }: Fact) =>
  here !== null && here.status !== 'refund_failed' && here.amountMinor === amountMinor && here.currency === currency
