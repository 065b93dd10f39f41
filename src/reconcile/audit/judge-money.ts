import { factCauseOf, type AuditedEvent, type AuditedFact, type AuditedOrder } from './audited-order.ts'
import { isAccepted } from './expectation.ts'
import type { Finding } from './finding.ts'
import type { Say } from './judge-order.ts'
import { refundedMinor } from './refunded.ts'

const GIVEN_BACK = ['refund', 'cancel', 'return']

/** What workers were told of a payment and of its refunds adds up to what the facts say. */
export function judgeMoney(order: AuditedOrder, say: Say): Finding[] {
  const findings: Finding[] = []
  for (const payment of order.facts) {
    if (payment.eventType !== 'payment_succeeded' || !isAccepted(order.anomalies, payment)) continue
    const isOrders = payment.amountMinor === order.amountMinor && payment.currency === order.currency
    if (payment.outcome === 'applied' && !isOrders)
      findings.push(
        say(
          'amount_mismatch',
          {},
          `${factCauseOf(payment)} is ${payment.amountMinor} ${payment.currency}, the order ${order.amountMinor ?? 'nothing'} ${order.currency ?? ''}`,
        ),
      )
    const { told, unequal } = toldMinor(order.events, payment)
    for (const event of unequal)
      findings.push(
        say('amount_mismatch', event, `another topic heard of another amount than ${event.amountMinor ?? 0}`),
      )
    const known = refundedMinor(order.facts, payment)
    if (unequal.length === 0 && isWrong(order, payment, told, known))
      findings.push(
        say('amount_mismatch', {}, `of ${payment.providerRef} ${known} is refunded, and workers heard of ${told}`),
      )
  }
  return findings
}

/** Each refund once, whatever the topics that it went to; `unequal`: what a topic was told otherwise than the first. */
function toldMinor(events: readonly AuditedEvent[], { providerRef }: AuditedFact) {
  const amounts = new Map<string, bigint>()
  const unequal: AuditedEvent[] = []
  for (const event of events) {
    const { kind, cause, paymentRef } = event
    if (paymentRef !== providerRef || !GIVEN_BACK.includes(kind)) continue
    const minor = BigInt(event.amountMinor ?? 0)
    const first = amounts.get(cause)
    if (first === undefined) amounts.set(cause, minor)
    else if (first !== minor) unequal.push(event)
  }
  return { told: [...amounts.values()].reduce((total, minor) => total + minor, 0n), unequal }
}

function isWrong(order: AuditedOrder, payment: AuditedFact, told: bigint, known: bigint): boolean {
  if (told > known) return true
  if (order.acceptedRef !== payment.providerRef) return false // What came later is a person's, not the workers'.
  if (order.status === 'paid' || order.status === 'shipped') return told !== known
  const isHeard = order.events.some(({ paymentRef }) => paymentRef === payment.providerRef)
  return isHeard && told < BigInt(payment.amountMinor)
}
