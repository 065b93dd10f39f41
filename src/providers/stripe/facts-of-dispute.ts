import { detailOf } from '../detail.ts'
import type { Fields } from '../fields.ts'
import { idOf, moneyOf, stripeRef, unixMs, words } from './read-object.ts'
import { badField, factRead, UNMAPPED, type Reading } from './reading.ts'

/**
 * That a customer disputes a payment; not mapped if it is a bare charge. Its amount is only told: it may be in another
 * currency than the payment, and change while the dispute goes on.
 */
export function readDispute(dispute: Fields): Reading {
  const { payment_intent: intent } = dispute
  if (intent === null || intent === undefined) return UNMAPPED
  const providerRef = stripeRef(dispute['id'])
  if (providerRef === undefined) return badField('id')
  const paymentRef = stripeRef(idOf(intent))
  if (paymentRef === undefined) return badField('payment_intent')
  const money = moneyOf(dispute, 'amount')
  if (typeof money === 'string') return badField(money)
  const eventTimeMs = unixMs(dispute['created'])
  if (eventTimeMs === undefined) return badField('created')
  const disputed = `${money.amountMinor} ${money.currency} (minor units)`
  return factRead({
    eventType: 'disputed',
    providerRef,
    paymentRef,
    amountMinor: 0,
    currency: '',
    amountKind: 'none',
    eventTimeMs,
    detail: detailOf(words(dispute['reason']), words(dispute['status']), disputed),
  })
}
