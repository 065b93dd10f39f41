import type pg from 'pg'
import type { Log } from '../runtime/log.ts'
import type { CallLock } from './call-lock.ts'
import type { Owner } from './change-row.ts'
import type { Reach } from './crash-points.ts'
import type { Effect } from './effect.ts'
import type { ConsumerMetrics } from './metrics.ts'
import type { OpenRow } from './open-row.ts'

/** An event that nobody can say of whether it happened. */
export interface Unsettled {
  readonly event: OpenRow['event']
  readonly reason: string
}

export interface RetryLimits {
  /** Waits between tries: doubling, from and to. */
  readonly fromMs: number
  readonly toMs: number
  /** A handler that throws so often is given up as `poison`. */
  readonly throwsMax: number
  /** An event that ends its process so often, alone in work, is kept aside. */
  readonly killsMax: number
  /** A handler or call that says `retry` for so long is given up. */
  readonly ageMsMax: number
}

/** What working on an event needs. */
export interface Parts {
  readonly pool: pg.Pool
  /** This process' own name for itself, of this start only. */
  readonly run: string
  readonly owner: Owner
  readonly effects: Readonly<Record<string, Effect>>
  readonly lock: CallLock
  readonly retries: RetryLimits
  readonly onUnsettled: (unsettled: Unsettled) => unknown
  /** For a handler, or what notes an outcome. */
  readonly handleMs: number
  readonly metrics: ConsumerMetrics
  readonly log: Log
  readonly reach: Reach
  /** Monotonic. */
  readonly elapsedMs: () => number
}

/** What came of working on a row; `busy`: somebody else has it, or its order's lock. */
export type Worked =
  | 'done'
  | 'retry'
  | 'refused'
  | 'poison'
  | 'gave_up'
  | 'no_effect_for_kind'
  | 'killed_process'
  | 'unknown'
  | 'asked_in_vain'
  | 'did_not_happen'
  | 'unsettled'
  | 'skipped'
  | 'busy'

/** Doubles with each failure; half of it is chance, so that what failed together does not come back together. */
export const backoffMs = ({ fromMs, toMs }: Pick<RetryLimits, 'fromMs' | 'toMs'>, failures: number) =>
  Math.min(toMs, fromMs * 2 ** Math.min(failures, 20)) * (0.5 + Math.random() / 2)
