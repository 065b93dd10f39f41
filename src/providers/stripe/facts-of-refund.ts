import type { FactKind } from '../../orders/model.ts'
import { detailOf } from '../detail.ts'
import { isFields, type Fields } from '../fields.ts'
import { isMinorAmount } from '../limits.ts'
import { idOf, moneyOf, stripeRef, unixMs, words } from './read-object.ts'
import { badField, factRead, NO_EFFECT, UNMAPPED, type Reading } from './reading.ts'

/** What a status means for the order; `null`: it is under way, or waits for the customer. */
const OUTCOMES: ReadonlyMap<unknown, Extract<FactKind, 'refund_succeeded' | 'refund_failed'> | null> = new Map([
  ['succeeded', 'refund_succeeded'],
  ['failed', 'refund_failed'],
  ['canceled', 'refund_failed'],
  ['pending', null],
  ['requires_action', null],
])

/**
 * What became of one refund. Not mapped: an unknown status, and a refund of a bare charge, whose payment never came
 * here as it has no PaymentIntent.
 * A refund that succeeded is timed by its creation, also when it succeeds days later: from then on a charge's
 * cumulative figure contains it, and a figure must not be earlier than what it contains (docs/decisions/003).
 * @param failedAtMs when it failed, if it did
 */
export function readRefund(refund: Fields, failedAtMs: number): Reading {
  const { status, reason, payment_intent: intent } = refund
  const eventType = OUTCOMES.get(status)
  if (eventType === undefined || intent === null || intent === undefined) return UNMAPPED
  // An authorization that ran out is written as a refund, but nothing had been taken.
  if (eventType === null || reason === 'expired_uncaptured_charge') return NO_EFFECT
  const providerRef = stripeRef(refund['id'])
  if (providerRef === undefined) return badField('id')
  const paymentRef = stripeRef(idOf(intent))
  if (paymentRef === undefined) return badField('payment_intent')
  const money = moneyOf(refund, 'amount')
  if (typeof money === 'string') return badField(money)
  const createdMs = unixMs(refund['created'])
  if (createdMs === undefined) return badField('created')
  const hasFailed = eventType === 'refund_failed'
  return factRead({
    eventType,
    providerRef,
    paymentRef,
    ...money,
    amountKind: 'individual',
    eventTimeMs: hasFailed ? failedAtMs : createdMs,
    detail: detailOf(
      outRefundNo(refund['metadata']),
      ...(hasFailed ? [words(status), words(refund['failure_reason'])] : []),
      words(reason),
    ),
  })
}

/** The merchant's own number of the refund, which people look for, where the refund was given one. */
function outRefundNo(metadata: unknown): string | undefined {
  const number = isFields(metadata) ? words(metadata['out_refund_no']) : undefined
  return number === undefined ? undefined : `out_refund_no ${number}`
}

/**
 * What was refunded of a charge altogether: a figure that replaces earlier ones and is another fact than the single
 * refunds in it, so it is part of the reference.
 * @param atMs when the figure held: the event's time, or when Stripe answered a query; never the charge's own time,
 *   which is before every refund
 */
export function readRefundedTotal(charge: Fields, atMs: number): Reading {
  const { amount, amount_captured: captured = amount, payment_intent: intent } = charge
  if (intent === null || intent === undefined) return UNMAPPED
  const money = moneyOf(charge, 'amount_refunded')
  if (typeof money === 'string') return badField(money)
  if (!isMinorAmount(amount)) return badField('amount')
  if (!isMinorAmount(captured)) return badField('amount_captured')
  // What was authorized and never taken counts as refunded there (woocommerce-gateway-stripe#1073: of 206.75, 203.00
  // were captured, and amount_refunded was 3.75).
  const amountMinor = money.amountMinor - Math.max(0, amount - captured)
  if (amountMinor <= 0) return NO_EFFECT
  const providerRef = stripeRef(charge['id'], `/refunded/${amountMinor}`)
  if (providerRef === undefined) return badField('id')
  const paymentRef = stripeRef(idOf(intent))
  if (paymentRef === undefined) return badField('payment_intent')
  return factRead({
    eventType: 'refund_succeeded',
    providerRef,
    paymentRef,
    amountMinor,
    currency: money.currency,
    amountKind: 'cumulative',
    eventTimeMs: atMs,
    detail: null,
  })
}
