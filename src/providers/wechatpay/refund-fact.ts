import type { Fact } from '../../orders/model.ts'
import { chinaTimeMs } from '../china-time.ts'
import { isCurrency, isIdentity, isMinorAmount, traceable } from '../limits.ts'

/** One refund of a payment. `amount.refund` is what this one gives back, whatever was given back before. */
export interface Refund {
  readonly refundId: unknown
  readonly transactionId: unknown
  /** Ours: people look for it, and the refund query asks by it. */
  readonly outRefundNo: unknown
  readonly status: keyof typeof REFUND_FACTS
  readonly refundFen: unknown
  readonly currency: unknown
  readonly successTime: unknown
}

/**
 * What a refund's final states mean. ABNORMAL: the money could not go back the way it came (a card that is no more) and
 * waits for a person; CLOSED: it did not go back at all.
 */
export const REFUND_FACTS = {
  SUCCESS: 'refund_succeeded',
  ABNORMAL: 'refund_failed',
  CLOSED: 'refund_failed',
} as const satisfies Record<string, Fact['eventType']>

export const isRefundStatus = (status: unknown): status is Refund['status'] =>
  typeof status === 'string' && Object.hasOwn(REFUND_FACTS, status)

/**
 * The fact of a refund, or the name of the field that is not as documented. The notice has no currency: refunds are in
 * that of the payment, CNY where nothing is said.
 * @param otherwiseMs the event's time if `success_time` is missing or cannot be read; no identity depends on it
 */
export function refundFact(refund: Refund, otherwiseMs: number): Fact | string {
  const { refundId, transactionId, refundFen, currency = 'CNY', status } = refund
  // ABNORMAL and CLOSED of one refund are two things that happen to it, and its success a third.
  const providerRef = prefixed(refundId, status === 'SUCCESS' ? '' : `/${status.toLowerCase()}`)
  if (providerRef === undefined) return 'refund_id'
  const paymentRef = prefixed(transactionId)
  if (paymentRef === undefined) return 'transaction_id'
  if (!isMinorAmount(refundFen)) return 'amount.refund'
  if (!isCurrency(currency)) return 'amount.currency'
  const eventType = REFUND_FACTS[status]
  const number = traceable(refund.outRefundNo)
  const detail = [number && `out_refund_no ${number}`, status === 'SUCCESS' ? '' : status].filter((part) => part !== '')
  return {
    eventType,
    providerRef,
    paymentRef,
    amountMinor: refundFen,
    currency,
    amountKind: 'individual',
    eventTimeMs: chinaTimeMs(refund.successTime) ?? otherwiseMs,
    detail: detail.length > 0 ? detail.join('; ') : null,
  }
}

/** A number of WeChat Pay's as a fact's reference; undefined if it is none that can be kept. */
function prefixed(number: unknown, suffix = ''): string | undefined {
  if (!isIdentity(number)) return undefined
  const reference = `wechatpay:${number}${suffix}`
  return isIdentity(reference) ? reference : undefined
}
