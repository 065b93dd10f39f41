import type { StatedFact } from './log.ts'
import type { PlannedCallback } from './planned.ts'
import type { PaymentProvider } from './stories.ts'

/** Before a reference: the money system, not the protocol. */
const SYSTEM: Readonly<Record<PaymentProvider, string>> = {
  wechatpay: 'wechatpay',
  'wechatpay-v2': 'wechatpay',
  alipay: 'alipay',
  stripe: 'stripe',
  'standard-webhooks': 'standard-webhooks',
}

/** A payment as facts name it. */
export const paymentRefOf = (provider: PaymentProvider, transactionId: string) => `${SYSTEM[provider]}:${transactionId}`

/**
 * What a callback proves, by what its provider knows and not by what anybody reads in it. None: nothing that counts, or
 * nothing that is proven, as WeChat Pay signs no refund notice of v2.
 * @param dateOf a time of the plan as a date, in whole seconds
 */
export function factsOfCallback(callback: PlannedCallback, dateOf: (atMs: number) => Date): StatedFact[] {
  const { provider, outTradeNo, transactionId, amountMinor, currency, atMs, others, disputeId } = callback.transaction
  const payment: StatedFact = {
    ...{ outTradeNo, currency, eventTimeMs: dateOf(atMs).getTime(), eventType: 'payment_succeeded' },
    ...{ providerRef: paymentRefOf(provider, transactionId), paymentRef: null, amountMinor, amountKind: 'none' },
  }
  const withoutMoney = { ...payment, amountMinor: 0, currency: '' }
  switch (callback.event) {
    case 'waiting':
      return []
    case 'payment':
    case 'finished':
      return [payment, ...others.map((other) => ({ ...payment, ...otherPayment(other, provider) }))]
    case 'payment_failed':
      return [{ ...withoutMoney, eventType: 'payment_failed' }]
    case 'closed':
      return [{ ...withoutMoney, eventType: 'provider_closed' }]
    case 'dispute': {
      const providerRef = `${SYSTEM[provider]}:${disputeId ?? ''}`
      return [{ ...withoutMoney, eventType: 'disputed', providerRef, paymentRef: payment.providerRef }]
    }
    case 'refund':
    case 'refund_total':
    case 'refund_abnormal':
    case 'refund_closed':
      return provider === 'wechatpay-v2' ? [] : factsOfRefund(callback, payment, dateOf)
  }
}

function factsOfRefund(
  { event, transaction, refund }: PlannedCallback,
  payment: StatedFact,
  dateOf: (atMs: number) => Date,
): StatedFact[] {
  if (refund === null) throw new Error(`a ${event} without a refund`)
  const { provider, transactionId } = transaction
  const one: StatedFact = {
    ...{ ...payment, eventType: 'refund_succeeded', providerRef: `${SYSTEM[provider]}:${refund.refundId}` },
    ...{ paymentRef: payment.providerRef, amountMinor: refund.amountMinor, amountKind: 'individual' },
    eventTimeMs: dateOf(refund.atMs).getTime(),
  }
  const total = (of: string): StatedFact => ({
    ...{ ...one, amountMinor: refund.totalMinor, amountKind: 'cumulative' },
    providerRef: `${of}/refunded/${refund.totalMinor}`,
  })
  if (event === 'refund_total') return [total(`stripe:ch_${transactionId.slice('pi_'.length)}`)]
  if (event !== 'refund') {
    const failed = { ...one, eventType: 'refund_failed' } as const
    // Its money could not go back, and that it is closed after all: two facts of one refund.
    if (provider === 'wechatpay') return [{ ...failed, providerRef: `${one.providerRef}/${refund.state}` }]
    // What did not go back has no amount, unless the provider says one.
    return [provider === 'standard-webhooks' ? { ...failed, amountMinor: 0, currency: '', amountKind: 'none' } : failed]
  }
  // Alipay tells the sum, and in the same breath the payment.
  return provider === 'alipay' ? [total(payment.providerRef), payment] : [one]
}

const otherPayment = (
  other: { readonly outTradeNo: string; readonly transactionId: string; readonly amountMinor: number },
  provider: PaymentProvider,
) => ({
  outTradeNo: other.outTradeNo,
  providerRef: paymentRefOf(provider, other.transactionId),
  amountMinor: other.amountMinor,
})
