import { detailOf } from '../detail.ts'
import { isFields, type Fields } from '../fields.ts'
import { moneyOf, stripeRef, unixMs, words } from './read-object.ts'
import { badField, factRead, type Reading } from './reading.ts'

/**
 * The payment that a succeeded PaymentIntent is. The amount is `amount_received`, what really came: after a partial
 * capture `amount` is more. If it is not the order's, the order gets an `amount_mismatch`: a part is not the whole.
 * @param atMs when it succeeded; a charge that the answer of a query holds in full knows it better
 */
export function readPayment(intent: Fields, atMs: number): Reading {
  if (intent['status'] !== 'succeeded') return badField('status')
  const providerRef = stripeRef(intent['id'])
  if (providerRef === undefined) return badField('id')
  const money = moneyOf(intent, 'amount_received')
  if (typeof money === 'string') return badField(money)
  const charge = intent['latest_charge']
  return factRead({
    eventType: 'payment_succeeded',
    providerRef,
    paymentRef: null,
    ...money,
    amountKind: 'none',
    eventTimeMs: (isFields(charge) ? unixMs(charge['created']) : undefined) ?? atMs,
    detail: null,
  })
}

/**
 * That an attempt to pay failed. All attempts of one intent are one fact, without an amount: a card tester makes
 * thousands of them, an order keeps its facts for ever, none of them moves it, a query knows the last one only, and
 * the intent's amount may be changed between two attempts, which would be a conflict.
 */
export function readFailedPayment(intent: Fields, atMs: number): Reading {
  const providerRef = stripeRef(intent['id'])
  if (providerRef === undefined) return badField('id')
  const error = isFields(intent['last_payment_error']) ? intent['last_payment_error'] : {}
  return factRead({
    eventType: 'payment_failed',
    providerRef,
    paymentRef: null,
    amountMinor: 0,
    currency: '',
    amountKind: 'none',
    eventTimeMs: atMs,
    detail: detailOf(words(error['code']), words(error['decline_code'])),
  })
}
