import type { AnomalyKind } from './model.ts'
import { openAnomaly } from './anomaly.ts'
import type { FactEntry, OrderWork } from './work.ts'

export type FactResult =
  { readonly kind: 'applied' | 'noted' | 'held' } | { readonly kind: 'anomaly'; readonly anomaly: AnomalyKind }

export type DecideFact = (work: OrderWork, entry: FactEntry) => FactResult

/** What one status does with one kind of fact. */
export interface FactCell {
  /** As the printed table has it. */
  readonly says: string
  /** ⇄: had the facts arrived in another order, the order or its anomalies could be others. */
  readonly arrivalDependent: boolean
  readonly decide: DecideFact
}

export const APPLIED = { kind: 'applied' } as const
export const NOTED = { kind: 'noted' } as const
export const HELD = { kind: 'held' } as const

export const cell = (says: string, decide: DecideFact): FactCell => ({ says, arrivalDependent: false, decide })
export const arrivalCell = (says: string, decide: DecideFact): FactCell => ({ says, arrivalDependent: true, decide })

export const held = cell('held', () => HELD)
export const noted = cell('noted', () => NOTED)
/** An anomaly that carries the fact, whatever else is known. */
export const anomaly = (kind: AnomalyKind) => cell(`anomaly \`${kind}\``, raise(kind))
export const raise =
  (kind: AnomalyKind): DecideFact =>
  (work, { fact, trigger }) =>
    openAnomaly(work, kind, trigger, { fact })
