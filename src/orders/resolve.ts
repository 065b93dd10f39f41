import { PAYMENT_ANOMALIES, resolveAnomaly } from './anomaly.ts'
import { paidInGroup, startPaidLife } from './accept-payment.ts'
import type { Outcome, Refusal } from './decision.ts'
import type { AnomalyKind, Fact, Resolution } from './model.ts'
import type { AnomalyEntry, OrderWork } from './work.ts'

export interface ResolveCommand {
  readonly anomaly: AnomalyEntry
  readonly resolution: Resolution
  readonly reason: string
}

/**
 * An operator's answer to an anomaly. `revival` is what the status offers for a payment that did not move the order:
 * `accept_payment` before it was ever paid, `reopen` after it was refunded, nothing while it is paid.
 */
export const resolveBy =
  (revival: 'accept_payment' | 'reopen' | null) =>
  (work: OrderWork, { anomaly, resolution, reason }: ResolveCommand): Outcome => {
    const refuse = (refusal: Refusal): Outcome => ({ kind: 'refused', status: work.order.status, refusal })
    if (anomaly.resolution === resolution) return { kind: 'done', status: work.order.status }
    if (anomaly.resolution !== null) return refuse({ reason: 'already_resolved', resolution: anomaly.resolution })
    const payment = paymentOf(work, anomaly)
    const allowed = allowedFor(anomaly.kind, payment, revival)
    if (!allowed.includes(resolution)) return refuse({ reason: 'not_allowed', anomaly: anomaly.kind, allowed })
    const trigger = { cause: `resolve:${anomaly.cause}`, occurredAtMs: work.batch.nowMs, receivedAtMs: null }
    if (resolution === revival && payment !== undefined) {
      const orderId = paidInGroup(work)
      if (orderId !== null) return refuse({ reason: 'group_is_paid', orderId })
      startPaidLife(work, payment, trigger)
      work.order.version += 1
    }
    resolveAnomaly(work, anomaly, resolution, reason, trigger)
    return { kind: 'done', status: work.order.status }
  }

function allowedFor(kind: AnomalyKind, payment: Fact | undefined, revival: Resolution | null): readonly Resolution[] {
  if (payment !== undefined)
    return revival === null ? ['refund_outside', 'ignore'] : [revival, 'refund_outside', 'ignore']
  return kind === 'refund_failed' ? ['refund_outside', 'ignore'] : ['ignore']
}

/** The payment that the anomaly is, if it is one that did not move the order. */
function paymentOf(work: OrderWork, { kind, cause }: AnomalyEntry): Fact | undefined {
  const isPayments = PAYMENT_ANOMALIES.some((each) => each === kind)
  const fact = isPayments ? work.facts.get(cause)?.fact : undefined
  return fact?.eventType === 'payment_succeeded' ? fact : undefined
}
