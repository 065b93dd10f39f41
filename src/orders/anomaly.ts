import { notice } from './emit.ts'
import type { AnomalyKind, Fact, Resolution } from './model.ts'
import { anomalyIdentity, type AnomalyEntry, type OrderWork, type Trigger } from './work.ts'

/** An operator's answer, or what settled it by itself. */
export type Settlement = Resolution | 'refunded' | 'released' | 'order_created'

/** Opens an anomaly, unless the order ever had one of this kind and cause. Returns what the fact's outcome is then. */
export function openAnomaly(
  work: OrderWork,
  kind: AnomalyKind,
  trigger: Trigger,
  about: Readonly<Record<string, Fact | number | string>>,
  cause: string = trigger.cause,
) {
  const identity = anomalyIdentity(kind, cause)
  if (!work.anomalies.has(identity)) {
    const { status, amountMinor, currency, acceptedRef } = work.order
    const all = {
      ...Object.fromEntries(Object.entries(about).map(([name, value]) => [name, plain(value)])),
      order: { status, amountMinor, currency, acceptedRef },
    }
    const open = { owner: null, resolution: null, reason: null, resolvedBy: null, wasOpen: false }
    work.anomalies.set(identity, { id: null, kind, cause, facts: JSON.stringify(all), ...open })
    notice(work, 'anomaly_opened', identity, trigger, { anomaly: kind, cause, facts: all })
  }
  return { kind: 'anomaly', anomaly: kind } as const
}

/** The same text whether the fact came from the topic or from the table, and whatever else it carries there. */
function plain(value: Fact | number | string) {
  if (typeof value !== 'object') return value
  const { eventType, providerRef, paymentRef, amountMinor, currency, amountKind, eventTimeMs, detail } = value
  return { eventType, providerRef, paymentRef, amountMinor, currency, amountKind, eventTimeMs, detail }
}

/** Closes an open anomaly. @param by who answered it; null: it was settled by itself */
export function resolveAnomaly(
  work: OrderWork,
  entry: AnomalyEntry,
  settlement: Settlement,
  reason: string | null,
  trigger: Trigger,
  by: string | null = null,
) {
  if (entry.resolution !== null) return
  const { kind, cause } = entry
  entry.resolution = settlement
  entry.reason = reason
  entry.resolvedBy = by
  const attrs = { anomaly: kind, cause, resolution: settlement, reason, by }
  notice(work, 'anomaly_resolved', anomalyIdentity(kind, cause), trigger, attrs)
}

/** What a payment becomes that does not move the order; a full refund of it settles it. */
export const PAYMENT_ANOMALIES = [
  'double_payment',
  'paid_after_close',
  'paid_after_refund',
  'amount_mismatch',
] as const satisfies readonly AnomalyKind[]

/** The anomaly that a payment is, if it is one; open or not. */
export function anomalyOfPayment(work: OrderWork, paymentCause: string): AnomalyEntry | undefined {
  for (const kind of PAYMENT_ANOMALIES) {
    const entry = work.anomalies.get(anomalyIdentity(kind, paymentCause))
    if (entry !== undefined) return entry
  }
  return undefined
}
