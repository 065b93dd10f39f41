import { openAnomaly, resolveAnomaly } from './anomaly.ts'
import type { FactResult } from './cell.ts'
import { FACT_KINDS } from './model.ts'
import { ON_FACT } from './on-fact.ts'
import { anomalyIdentity, type FactEntry, type OrderWork } from './work.ts'

/** Lets the order's status decide about a fact that is held so far; a payment then brings its held refunds with it. */
export function settleFact(work: OrderWork, entry: FactEntry): FactResult {
  const result: FactResult = ON_FACT[work.order.status][entry.fact.eventType].decide(work, entry)
  if (result.kind === 'held') {
    // What it does later is not the speed of this callback; nor may it depend on where a batch was cut.
    entry.trigger = { ...entry.trigger, receivedAtMs: null }
    return result
  }
  entry.outcome = result.kind
  work.order.heldCount -= 1
  if (entry.fact.eventType === 'payment_succeeded') release(work, work.refunds.get(entry.fact.providerRef) ?? [])
  return result
}

/** Tries the order's held facts, in event-time order; once per batch, as afterwards nothing is left that could go. */
export function releaseHeld(work: OrderWork) {
  if (work.triedHeld) return
  work.triedHeld = true
  if (work.order.heldCount > 0 && work.order.status !== 'awaited') release(work, [...work.facts.values()])
}

function release(work: OrderWork, entries: readonly FactEntry[]) {
  const held = entries.filter(({ outcome }) => outcome === 'held').sort(byEventTime)
  for (const entry of held) {
    if (entry.outcome !== 'held') continue // Its payment took it along.
    if (settleFact(work, entry).kind === 'held') {
      nameWhatIsMissing(work, entry)
      continue
    }
    work.order.version += 1
    settleLimit(work, entry, 'unknown_order', 'released')
    settleLimit(work, entry, 'refund_without_payment', 'released')
  }
}

/** The order is known now, its payment still is not; the limit has passed already, so nobody else would say so. */
function nameWhatIsMissing(work: OrderWork, entry: FactEntry) {
  const { fact, trigger } = entry
  if (!work.anomalies.has(anomalyIdentity('unknown_order', trigger.cause))) return
  settleLimit(work, entry, 'unknown_order', 'order_created')
  openAnomaly(work, 'refund_without_payment', trigger, { fact })
}

function settleLimit(
  work: OrderWork,
  { trigger }: FactEntry,
  kind: 'unknown_order' | 'refund_without_payment',
  settlement: 'released' | 'order_created',
) {
  const limit = work.anomalies.get(anomalyIdentity(kind, trigger.cause))
  if (limit !== undefined) resolveAnomaly(work, limit, settlement, null, trigger)
}

/** Total, so that facts of the same moment go in the same order however they arrived: payments first. */
function byEventTime({ fact: a }: FactEntry, { fact: b }: FactEntry): number {
  if (a.eventTimeMs !== b.eventTimeMs) return a.eventTimeMs - b.eventTimeMs
  if (a.eventType !== b.eventType) return FACT_KINDS.indexOf(a.eventType) - FACT_KINDS.indexOf(b.eventType)
  return a.providerRef < b.providerRef ? -1 : 1
}
