const eventTime = { rfc3339: '/timestamp' }
const money = { amount: { minor: '/data/amount' }, currency: '/data/currency' }
const paymentRef = '/data/payment'

/** The mapping file of a merchant who hears from the sender of Standard Webhooks that is played. */
export const WEBHOOK_MAPPING = {
  type: '/type',
  outTradeNo: '/data/order',
  rules: [
    { when: 'payment.succeeded', fact: 'payment_succeeded', reference: paymentRef, ...money, eventTime },
    { when: 'payment.failed', fact: 'payment_failed', reference: paymentRef, eventTime },
    {
      ...{ when: 'refund.succeeded', fact: 'refund_succeeded', reference: '/data/refund', paymentRef, ...money },
      ...{ amountKind: 'individual', eventTime, detail: '/data/merchant_refund' },
    },
    { when: 'refund.failed', fact: 'refund_failed', reference: '/data/refund', paymentRef, eventTime },
    { when: 'dispute.opened', fact: 'disputed', reference: '/data/dispute', paymentRef, eventTime },
  ],
}
