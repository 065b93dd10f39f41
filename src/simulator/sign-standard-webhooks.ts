import { signWebhook } from '../providers/standard-webhooks/sign.ts'
import { keysFor } from './choose-key.ts'
import type { SenderKeys } from './keys.ts'
import type { CallbackEvent, PlannedCallback } from './planned.ts'
import { signedAt, type Delivered } from './delivered.ts'

/** What this sender calls things; the merchant's mapping (`webhook-mapping.ts`) turns them into ours. */
const WEBHOOK_TYPES: Partial<Record<CallbackEvent, string>> = {
  payment: 'payment.succeeded',
  payment_failed: 'payment.failed',
  refund: 'refund.succeeded',
  refund_abnormal: 'refund.failed',
  dispute: 'dispute.opened',
}

/** A message in the form of Standard Webhooks, with a body of the sender's own. */
export function signStandardWebhooks(delivered: Delivered, keys: SenderKeys) {
  const { callback, defect, dateOf } = delivered
  const signers = keysFor(keys.standardWebhooks.keys, delivered)
  const signed = signWebhook(messageOf(callback, dateOf), callback.messageId, signers, signedAt(delivered))
  // A good signature, of another message.
  return defect === 'wrong_signature'
    ? { ...signed, headers: { ...signed.headers, 'webhook-id': `${callback.messageId}f` } }
    : signed
}

function messageOf({ event, transaction, refund }: PlannedCallback, dateOf: (atMs: number) => Date) {
  const type = WEBHOOK_TYPES[event]
  if (type === undefined) throw new Error(`this sender has no word for ${event}`)
  const { outTradeNo, transactionId, currency, amountMinor, atMs, disputeId } = transaction
  return {
    type,
    timestamp: dateOf(refund?.atMs ?? atMs).toISOString(),
    data: {
      ...{ order: outTradeNo, payment: transactionId, amount: refund?.amountMinor ?? amountMinor, currency },
      ...(refund === null ? {} : { refund: refund.refundId, merchant_refund: refund.outRefundNo }),
      ...(event === 'dispute' ? { dispute: disputeId } : {}),
    },
  }
}
