import { PAYMENT_ANOMALIES } from '../../src/orders/anomaly.ts'
import { factCause } from '../../src/orders/identity.ts'
import { refundsOf, type History } from './history.ts'
import { misfits, netEffect } from './net-effect.ts'
import type { Shop } from './shop.ts'

/** What holds after every arrival, in whatever order and through whatever ⇄; each line is a law that is broken. */
export const brokenLaws = ({ orderIds }: Pick<History, 'orderIds'>, shop: Shop): string[] =>
  orderIds
    .flatMap((orderId) => [
      ...notOnePerCause(shop, orderId),
      ...notSettled(shop, orderId),
      ...misfits(shop.row(orderId).order.status, netEffect(shop.events.filter((event) => event.orderId === orderId))),
    ])
    .concat(wrongGroups(orderIds, shop))

/**
 * Where an order's anomalies are not exactly one per cause: none for a fact that became one, two for a fact, a notice
 * that is missing or comes twice. Empty: all is well. Facts that contradict themselves are not looked for here.
 */
function notOnePerCause(shop: Shop, orderId: number): string[] {
  const { facts, anomalies } = shop.row(orderId)
  const all = [...anomalies.values()]
  const wrong: string[] = []
  for (const fact of facts.values()) {
    const cause = factCause(fact)
    // More refunded than paid is the payment's anomaly, whichever refund passed the amount.
    const payment = factCause({ eventType: 'payment_succeeded', providerRef: fact.paymentRef ?? '' })
    const own = all.filter((one) => one.cause === cause && one.kind !== 'over_refund')
    const over = all.filter((one) => one.cause === payment && one.kind === 'over_refund')
    const isRefund = fact.eventType === 'refund_succeeded'
    const count = own.length + (isRefund && own.length === 0 ? over.length : 0)
    if (fact.outcome === 'anomaly' ? count !== 1 : own.length > 0) wrong.push(`${cause} is ${fact.outcome}: ${count}`)
  }
  const notices = shop.events.filter((event) => event.orderId === orderId && event.sequence === null)
  for (const { kind, cause, resolution } of all) {
    const said = notices.filter((event) => event.cause === `${kind}:${cause}`).map((event) => event.kind)
    const expected = resolution === null ? ['anomaly_opened'] : ['anomaly_opened', 'anomaly_resolved']
    if (said.join() !== expected.join()) wrong.push(`${kind}:${cause} is told as ${said.join(', ')}`)
  }
  if (notices.length !== new Set(notices.map(({ eventId }) => eventId)).size) wrong.push('a notice comes twice')
  const { order } = shop.row(orderId)
  for (const { eventType, amountMinor, currency, outcome, providerRef } of facts.values()) {
    const isWrong = amountMinor !== order.amountMinor || currency !== order.currency
    if (eventType === 'payment_succeeded' && isWrong && (outcome === 'applied' || order.acceptedRef === providerRef))
      wrong.push(`${providerRef} is accepted, of another amount`)
  }
  return wrong
}

/** A payment that is too many is settled by its own full refund, and by nothing else here: nobody answers. */
function notSettled(shop: Shop, orderId: number): string[] {
  const { facts, anomalies } = shop.row(orderId)
  const refunds = refundsOf(shop, orderId)
  return [...anomalies.values()].flatMap(({ kind, cause, resolution }) => {
    const payment = facts.get(cause)
    const isOfPayment = payment?.eventType === 'payment_succeeded' && PAYMENT_ANOMALIES.some((each) => each === kind)
    const isBack = isOfPayment && (refunds[payment.providerRef] ?? 0) >= payment.amountMinor
    return resolution === (isBack ? 'refunded' : null) ? [] : [`${kind}:${cause} is ${resolution ?? 'open'}`]
  })
}

/** At most one order of a group is paid, the group knows which, and a full refund frees it. */
function wrongGroups(orderIds: readonly number[], shop: Shop): string[] {
  const paid = orderIds.filter((id) => ['paid', 'shipped'].includes(shop.row(id).order.status))
  return [...shop.groups.values()]
    .filter(({ orderId }) => (orderId === null ? paid.length > 0 : paid.length !== 1 || paid[0] !== orderId))
    .map(({ orderId }) => `orders ${paid.join(', ')} are paid, the group says ${orderId ?? 'none'}`)
}
