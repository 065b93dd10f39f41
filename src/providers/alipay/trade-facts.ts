import type { Fact } from '../../orders/model.ts'
import { isIdentity } from '../limits.ts'

/** Whether a trade's number can be kept, with the longest figure behind it. */
export const isTradeNo = (tradeNo: unknown): tradeNo is string =>
  isIdentity(tradeNo) && isIdentity(`${trade(tradeNo)}/refunded/${Number.MAX_SAFE_INTEGER}`)

/** Whether a refund's request number can be kept. */
export const isRequestNo = (tradeNo: string, outRequestNo: unknown): outRequestNo is string =>
  isIdentity(outRequestNo) && isIdentity(`${trade(tradeNo)}/refund/${outRequestNo}`)

export const paymentFact = (tradeNo: string, amountMinor: number, eventTimeMs: number): Fact => ({
  ...PLAIN,
  eventType: 'payment_succeeded',
  providerRef: trade(tradeNo),
  amountMinor,
  currency: 'CNY',
  eventTimeMs,
})

/**
 * What was refunded so far, the last refund's time with it. Each figure is a fact of its own: the same one again is a
 * duplicate, a later one does not contradict it (docs/decisions/003).
 */
export const refundedSoFar = (
  tradeNo: string,
  amountMinor: number,
  eventTimeMs: number,
  detail: string | null,
): Fact => ({
  ...PLAIN,
  eventType: 'refund_succeeded',
  providerRef: `${trade(tradeNo)}/refunded/${amountMinor}`,
  paymentRef: trade(tradeNo),
  amountMinor,
  currency: 'CNY',
  amountKind: 'cumulative',
  eventTimeMs,
  detail,
})

/**
 * One refund, as query and bill know it. Its time counts in whole seconds: a notice writes its last refund's time with
 * milliseconds (`17:31:05.287`), query and bill write the same one without or with; a refund that seemed later than
 * the figure that contains it would be counted twice. Alipay takes the next refund of a trade 3 s later at the earliest.
 */
export const oneRefund = (
  tradeNo: string,
  outRequestNo: string,
  refund: { readonly amountMinor: number; readonly eventTimeMs: number; readonly detail: string | null },
): Fact => ({
  ...PLAIN,
  eventType: 'refund_succeeded',
  providerRef: `${trade(tradeNo)}/refund/${outRequestNo}`,
  paymentRef: trade(tradeNo),
  amountMinor: refund.amountMinor,
  currency: 'CNY',
  amountKind: 'individual',
  eventTimeMs: refund.eventTimeMs - (refund.eventTimeMs % 1_000),
  detail: refund.detail,
})

/** The trade was closed unpaid. */
export const closedFact = (tradeNo: string, eventTimeMs: number): Fact => ({
  ...PLAIN,
  eventType: 'provider_closed',
  providerRef: trade(tradeNo),
  eventTimeMs,
})

const trade = (tradeNo: string) => `alipay:${tradeNo}`

const PLAIN = { paymentRef: null, amountMinor: 0, currency: '', amountKind: 'none', detail: null } as const
