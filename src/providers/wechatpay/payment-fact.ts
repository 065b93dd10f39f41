import type { Fact } from '../../orders/model.ts'
import { chinaTimeMs } from '../china-time.ts'
import { isCurrency, isIdentity, isMinorAmount } from '../limits.ts'

/** The order's amount is `total` (`total_amount` in a combined payment); what was paid after coupons may be less. */
export interface Payment {
  readonly transactionId: unknown
  readonly totalFen: unknown
  readonly currency: unknown
  readonly successTime: unknown
}

/**
 * The fact of a successful payment, or the name of the field that is not as documented.
 * @param otherwiseMs the event's time if `success_time` cannot be read; no identity depends on it
 */
export function paymentFact(payment: Payment, otherwiseMs: number): Fact | string {
  const { transactionId, totalFen, currency = 'CNY' } = payment
  if (!isIdentity(transactionId)) return 'transaction_id'
  const providerRef = `wechatpay:${transactionId}`
  if (!isIdentity(providerRef)) return 'transaction_id'
  if (!isMinorAmount(totalFen)) return 'amount'
  if (!isCurrency(currency)) return 'amount.currency'
  return {
    eventType: 'payment_succeeded',
    providerRef,
    paymentRef: null,
    amountMinor: totalFen,
    currency,
    amountKind: 'none',
    eventTimeMs: chinaTimeMs(payment.successTime) ?? otherwiseMs,
    detail: null,
  }
}
