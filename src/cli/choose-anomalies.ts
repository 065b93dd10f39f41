import type pg from 'pg'
import { findAnomaly, listAnomalies, type Anomaly, type AnomalyFilter } from '../store/list-anomalies.ts'

/** So many are answered by one command. */
export const ANOMALIES_MAX = 10_000
const PAGE = 1_000

/** Without its facts, which may be large: who answers many needs only what it is and whose. */
export type ChosenAnomaly = Omit<Anomaly, 'facts'>

export interface Chosen {
  readonly anomalies: readonly ChosenAnomaly[]
  /** Ids of which there is none. */
  readonly missing: readonly number[]
  /** The last one of these; null: no more are there. Those that are refused stay open, so that it takes this to pass them. */
  readonly next: number | null
}

export async function findAll(pool: pg.Pool, ids: readonly number[]): Promise<Chosen> {
  const anomalies: ChosenAnomaly[] = []
  const missing: number[] = []
  for (const id of new Set(ids)) {
    const found = await findAnomaly(pool, id)
    if (found === undefined) missing.push(id)
    else anomalies.push(withoutFacts(found))
  }
  return { anomalies, missing, next: null }
}

/** @param after the last id of the command before */
export async function listAll(pool: pg.Pool, filter: AnomalyFilter, after: number | undefined): Promise<Chosen> {
  const anomalies: ChosenAnomaly[] = []
  for (;;) {
    const last = anomalies.at(-1)?.id ?? after
    const limit = Math.min(PAGE, ANOMALIES_MAX - anomalies.length)
    // At the limit one more is asked for, to know whether there is any.
    const page = await listAnomalies(pool, filter, { after: last, limit: Math.max(1, limit) })
    if (limit === 0) return { anomalies, missing: [], next: page.length > 0 ? (last ?? null) : null }
    anomalies.push(...page.map(withoutFacts))
    if (page.length < limit) return { anomalies, missing: [], next: null }
  }
}

function withoutFacts(anomaly: Anomaly): ChosenAnomaly {
  const light: Anomaly = { ...anomaly, facts: null }
  return light
}
