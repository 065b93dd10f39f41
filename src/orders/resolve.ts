import { PAYMENT_ANOMALIES, resolveAnomaly } from './anomaly.ts'
import { paidInGroup, startPaidLife } from './accept-payment.ts'
import type { Outcome, Refusal } from './decision.ts'
import type { AnomalyKind, Fact, Resolution, Status } from './model.ts'
import type { AnomalyEntry, OrderWork } from './work.ts'

export interface ResolveCommand {
  readonly anomaly: AnomalyEntry
  readonly resolution: Resolution
  readonly reason: string
  readonly actor: string
}

/** What a status offers for a payment that did not move the order; nothing while the order is paid or not known. */
const REVIVAL: Record<Status, 'accept_payment' | 'reopen' | null> = {
  awaited: null,
  pending: 'accept_payment',
  paid: null,
  shipped: null,
  closed: 'accept_payment',
  refunded: 'reopen',
}

/** The answers that an anomaly of an order in this status takes. */
export function allowedResolutions(
  status: Status,
  { kind, cause }: { readonly kind: AnomalyKind; readonly cause: string },
): readonly Resolution[] {
  const revival = REVIVAL[status]
  if (isOfPayment(kind, cause))
    return revival === null ? ['refund_outside', 'ignore'] : [revival, 'refund_outside', 'ignore']
  return kind === 'refund_failed' ? ['refund_outside', 'ignore'] : ['ignore']
}

/**
 * An operator's answer to an anomaly. It is given once: whoever comes second is told who was first, unless it is the
 * same person with the same answer. While somebody has claimed the anomaly nobody else answers it.
 */
export function resolve(work: OrderWork, { anomaly, resolution, reason, actor }: ResolveCommand): Outcome {
  const { status } = work.order
  const refuse = (refusal: Refusal): Outcome => ({ kind: 'refused', status, refusal })
  if (anomaly.resolution !== null) {
    const { resolution: given, resolvedBy: by } = anomaly
    if (given === resolution && by === actor) return { kind: 'done', status }
    return refuse({ reason: 'already_resolved', resolution: given, by })
  }
  if (anomaly.owner !== null && anomaly.owner !== actor) return refuse({ reason: 'claimed', owner: anomaly.owner })
  const allowed = allowedResolutions(status, anomaly)
  if (!allowed.includes(resolution)) return refuse({ reason: 'not_allowed', anomaly: anomaly.kind, allowed })
  const trigger = { cause: `resolve:${anomaly.cause}`, occurredAtMs: work.batch.nowMs, receivedAtMs: null }
  if (resolution === REVIVAL[status]) {
    const orderId = paidInGroup(work)
    if (orderId !== null) return refuse({ reason: 'group_is_paid', orderId })
    startPaidLife(work, paymentOf(work, anomaly), trigger)
    work.order.version += 1
  }
  resolveAnomaly(work, anomaly, resolution, reason, trigger, actor)
  return { kind: 'done', status: work.order.status }
}

/** Whether the anomaly is a payment that did not move its order; a refund of another currency is none. */
const isOfPayment = (kind: AnomalyKind, cause: string) =>
  PAYMENT_ANOMALIES.some((each) => each === kind) && cause.startsWith('payment_succeeded/')

function paymentOf(work: OrderWork, { kind, cause }: AnomalyEntry): Fact {
  const payment = work.facts.get(cause)?.fact
  if (payment === undefined) throw new Error(`The payment of the anomaly ${kind} is not known: ${cause}`)
  return payment
}
