import { stripeSecret } from '../providers/stripe/config.ts'
import { signEvent, stripeEvent } from '../providers/stripe/sign.ts'
import { keysFor } from './choose-key.ts'
import type { SenderKeys } from './keys.ts'
import type { PlannedCallback } from './planned.ts'
import { signedAt, type Delivered } from './delivered.ts'
import { chargeObject, disputeObject, paymentIntentObject, refundObject } from './stripe-objects.ts'

/** A Stripe event, signed with every secret that signs at that moment. */
export function signStripe(delivered: Delivered, keys: SenderKeys) {
  const { callback, defect, dateOf } = delivered
  const { transaction, refund, messageId } = callback
  const event = stripeEvent({
    ...objectOf(callback, dateOf),
    id: `evt_${messageId}`,
    at: dateOf(refund?.atMs ?? transaction.atMs),
    // A test of somebody's, at the address of the real thing.
    livemode: defect !== 'stranger',
  })
  const signed = signEvent(event, keysFor(keys.stripe.secrets, delivered).map(stripeSecret), signedAt(delivered))
  // A good signature, of another event.
  return defect === 'wrong_signature'
    ? { ...signed, rawBody: Buffer.concat([signed.rawBody, Buffer.from('\n')]) }
    : signed
}

function objectOf(callback: PlannedCallback, dateOf: (atMs: number) => Date): { type: string; object: object } {
  const { event, transaction, refund, messageId } = callback
  if (event === 'payment') return { type: 'payment_intent.succeeded', object: paymentIntentObject(transaction, dateOf) }
  if (event === 'payment_failed')
    return { type: 'payment_intent.payment_failed', object: paymentIntentObject(transaction, dateOf, true) }
  if (event === 'dispute') return { type: 'charge.dispute.created', object: disputeObject(transaction, dateOf) }
  if (refund === null) throw new Error(`Stripe has no word for ${event}`)
  if (event === 'refund_total')
    return { type: 'charge.refunded', object: chargeObject(transaction, refund.totalMinor, dateOf) }
  const object = refundObject(transaction, refund, dateOf)
  if (refund.state !== 'succeeded') return { type: 'refund.failed', object }
  // A card's refund succeeds at once, a bank's later.
  return { type: /[0-7]$/.test(messageId) ? 'refund.created' : 'refund.updated', object }
}
