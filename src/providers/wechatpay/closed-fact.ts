import type { Fact } from '../../orders/model.ts'

/**
 * That WeChat Pay closed an order unpaid: no notice says so, only the order query. There is no transaction then, and an
 * order is closed once, so its own number is the reference.
 * @param atMs when it was learnt: the answer has no time of its own
 */
export const closedFact = (outTradeNo: string, atMs: number): Fact => ({
  eventType: 'provider_closed',
  providerRef: `wechatpay:closed/${outTradeNo}`,
  paymentRef: null,
  amountMinor: 0,
  currency: '',
  amountKind: 'none',
  eventTimeMs: atMs,
  detail: null,
})
