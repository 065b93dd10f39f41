import type { Decision, Outcome } from './decision.ts'
import type { BatchWork } from './work.ts'

/** What the decided orders of a batch changed, against what was read. */
export function collect(batch: BatchWork, outcomes: readonly Outcome[]): Decision {
  const groups = [...batch.groups.values()].filter(({ changed }) => changed).map(({ value }) => value)
  const orders: Decision['orders'][number][] = []
  const newFacts: Decision['newFacts'][number][] = []
  const changedFacts: Decision['changedFacts'][number][] = []
  const openedAnomalies: Decision['openedAnomalies'][number][] = []
  const resolvedAnomalies: Decision['resolvedAnomalies'][number][] = []
  const newTimers: Decision['newTimers'][number][] = []
  const doneTimers: Decision['doneTimers'][number][] = []
  const dueAtMs = batch.nowMs + batch.options.heldLimitMs
  for (const { order, facts, anomalies, versionBefore, expiryDone, limitsReached } of batch.orders.values()) {
    const orderId = order.id
    if (order.version !== versionBefore) orders.push(order)
    if (expiryDone) doneTimers.push({ orderId, kind: 'expiry', ref: '' })
    for (const { fact, outcome, stored, trigger } of facts.values()) {
      if (outcome === stored) continue
      if (stored !== null) {
        changedFacts.push({ orderId, eventType: fact.eventType, providerRef: fact.providerRef, outcome })
        limitsReached.add(trigger.cause) // It is held no more: its timer is done, whether it fired or not.
        continue
      }
      newFacts.push({ orderId, fact: { ...fact, outcome } })
      if (outcome === 'held') newTimers.push({ orderId, kind: 'held_limit', ref: trigger.cause, dueAtMs })
    }
    for (const { id, kind, cause, facts: json, resolution, reason, resolvedBy: by, wasOpen } of anomalies.values()) {
      if (id === null) openedAnomalies.push({ orderId, kind, cause, facts: json, resolution, reason })
      else if (wasOpen && resolution !== null)
        resolvedAnomalies.push({ id, orderId, kind, cause, resolution, reason, by })
    }
    for (const ref of limitsReached) doneTimers.push({ orderId, kind: 'held_limit', ref })
  }
  const { events } = batch
  return {
    outcomes,
    orders,
    newFacts,
    changedFacts,
    events,
    openedAnomalies,
    resolvedAnomalies,
    groups,
    newTimers,
    doneTimers,
  }
}
