import { describeError } from '../runtime/log.ts'
import { isDatabaseTrouble } from '../runtime/postgres-fault.ts'

/** What becomes of a batch or wake whose Postgres transaction failed. This file alone decides it. */
export type Fate =
  /** Trouble around the records: wait, fence anew, run the same records again. */
  | { readonly kind: 'retry'; readonly reason: string }
  /** One record's own data: find it, keep the others going. */
  | { readonly kind: 'bisect'; readonly detail: string }
  /** Neither: never skip somebody's money to get past a surprise. */
  | { readonly kind: 'halt'; readonly detail: string }

const DATA_EXCEPTION = /^22...$/
/**
 * Checks that a record's own values can break although decoding bounds them. No other 23xxx is a record's fault: a
 * missing partition is 23514 too, without a constraint's name.
 */
const RECORD_CONSTRAINTS: ReadonlySet<string> = new Set([
  'orders_merchant_check',
  'orders_out_trade_no_check',
  'facts_provider_ref_check',
  'facts_payment_ref_check',
  'facts_amount_minor_check',
  'facts_detail_check',
])
const sqlstateOf = (error: object) =>
  'severity' in error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** @param error anything thrown by a lane's Postgres transaction or by the decision within it. */
export function fateOf(error: unknown): Fate {
  if (!(error instanceof Error)) return { kind: 'halt', detail: `threw ${String(error)}` }
  const said = describeError(error)
  const detail = `${said.code ?? said.name}: ${said.message}`
  // Connection loss, 40001, 40P01, 55P03, 57014, 25P03, 25006, 53xxx, 57Pxx, 58030, and what was rolled back: COMMIT
  // answered with ROLLBACK, or a batch that others made run again too often. It is idempotent.
  if (isDatabaseTrouble(error) || error.name === 'RegistryUnavailable') return { kind: 'retry', reason: detail }
  const sqlstate = sqlstateOf(error)
  if (sqlstate === undefined) return { kind: 'halt', detail }
  if (DATA_EXCEPTION.test(sqlstate)) return { kind: 'bisect', detail }
  const constraint = 'constraint' in error && typeof error.constraint === 'string' ? error.constraint : undefined
  if (sqlstate.startsWith('23') && constraint !== undefined && RECORD_CONSTRAINTS.has(constraint))
    return { kind: 'bisect', detail }
  return { kind: 'halt', detail }
}

const BACKOFF_MS_MIN = 50
const BACKOFF_MS_MAX = 10_000

/**
 * How long to wait before another try, in milliseconds: full jitter, so that lanes which failed together do not come
 * back together.
 * @param failures 1 after the first failure
 * @param random in [0, 1)
 */
export function backoffMs(failures: number, random: number): number {
  const ceiling = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(failures, 20))
  return Math.round(BACKOFF_MS_MIN + random * (ceiling - BACKOFF_MS_MIN))
}
