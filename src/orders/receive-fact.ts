import { openAnomaly } from './anomaly.ts'
import type { Outcome } from './decision.ts'
import { factCause } from './identity.ts'
import type { Fact } from './model.ts'
import { settleFact } from './settle-fact.ts'
import { addFact, type OrderWork } from './work.ts'

/** The same fact again, whatever its time, its payment or its wording: those differ between callback, query and bill. */
export const isSameFact = (a: Fact, b: Fact) =>
  a.amountMinor === b.amountMinor && a.currency === b.currency && a.amountKind === b.amountKind

/** A delivered fact: known already, in conflict with what is known, or new. */
export function receiveFact(work: OrderWork, fact: Fact, receivedAtMs: number | null): Outcome {
  const known = work.facts.get(factCause(fact))
  if (known === undefined) {
    work.order.version += 1
    work.order.heldCount += 1
    return settleFact(work, addFact(work, fact, receivedAtMs, null))
  }
  if (isSameFact(known.fact, fact)) return { kind: 'duplicate' }
  const trigger = { ...known.trigger, receivedAtMs }
  openAnomaly(work, 'conflicting_fact', trigger, { fact, known: known.fact })
  return { kind: 'conflict' }
}
