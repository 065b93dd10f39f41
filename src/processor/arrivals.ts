import type { Fact } from '../orders/model.ts'
import type { DeliveryOutcome } from '../store/delivery.ts'
import type { Sought } from '../store/find-facts.ts'
import type { CallbackOfOrder, LaneRecord } from './lane-types.ts'

/** One fact of one record on its way through a batch. */
export interface Arrival {
  readonly record: LaneRecord
  readonly callback: CallbackOfOrder
  readonly fact: Fact
  /** The same fact stands earlier in the batch. */
  readonly twin: Arrival | undefined
  orderId: number | undefined
  outcome: DeliveryOutcome
}

export interface Arrivals {
  /** In record order, twins too. */
  readonly all: readonly Arrival[]
  /** Without twins, sorted by order, so that index pages are visited in order. */
  readonly distinct: readonly Arrival[]
  /** Records without facts that name an order: its timeline shows them, if it is known. No stub is made for them. */
  readonly named: readonly { readonly record: LaneRecord; readonly merchant: string; readonly outTradeNo: string }[]
}

/** Unfolds a batch's callbacks into facts, and finds the batch's own duplicates. */
export function arrivalsOf(records: readonly LaneRecord[]): Arrivals {
  const first = new Map<string, Arrival>()
  const all: Arrival[] = []
  const distinct: Arrival[] = []
  const named: Arrivals['named'][number][] = []
  for (const record of records) {
    const { content } = record
    if (content.kind === 'noted' || (content.kind === 'dead_letter' && content.reason === 'unsupported')) {
      const { merchant, outTradeNo } = content.callback ?? {}
      if (merchant !== undefined && outTradeNo != null) named.push({ record, merchant, outTradeNo })
    }
    if (content.kind !== 'callback') continue
    const { callback } = content
    for (const fact of callback.facts) {
      const identity = `${callback.merchant}\0${callback.outTradeNo}\0${fact.eventType}\0${fact.providerRef}`
      const earlier = first.get(identity)
      const twin = earlier !== undefined && isSame(earlier.fact, fact) ? earlier : undefined
      const arrival: Arrival = { record, callback, fact, twin, orderId: undefined, outcome: 'duplicate' }
      if (earlier === undefined) first.set(identity, arrival)
      if (twin === undefined) distinct.push(arrival) // Another amount under the same identity is for the decision.
      all.push(arrival)
    }
  }
  return { all, distinct: distinct.sort(byOrder), named }
}

export const soughtOf = ({ distinct, named }: Arrivals): Sought[] => [
  ...distinct.map(({ callback: { merchant, outTradeNo }, fact }) => ({ merchant, outTradeNo, fact })),
  ...named.map(({ merchant, outTradeNo }) => ({ merchant, outTradeNo, fact: null })),
]

const isSame = (a: Fact, b: Fact) =>
  a.amountMinor === b.amountMinor && a.currency === b.currency && a.amountKind === b.amountKind

function byOrder({ callback: a }: Arrival, { callback: b }: Arrival): number {
  if (a.merchant !== b.merchant) return a.merchant < b.merchant ? -1 : 1
  if (a.outTradeNo !== b.outTradeNo) return a.outTradeNo < b.outTradeNo ? -1 : 1
  return 0 // The sort is stable: record order.
}
