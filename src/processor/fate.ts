import { describeError } from '../runtime/log.ts'

/** What becomes of a batch whose Postgres transaction failed. This file alone decides it. */
export type Fate =
  /** Trouble around the records: wait, fence anew, run the same records again. */
  | { readonly kind: 'retry'; readonly reason: string }
  /** One record's own data: find it, keep the others going. */
  | { readonly kind: 'bisect'; readonly detail: string }
  /** Neither: never skip somebody's money to get past a surprise. */
  | { readonly kind: 'halt'; readonly detail: string }

/**
 * Connection trouble (08), serialization and deadlock, lock and statement timeouts, an idle transaction ended, a
 * read-only standby, no resources (53), shutdown, crash and recovery (57P), I/O.
 */
const TRANSIENT = /^(08...|40001|40P01|55P03|57014|25P03|25006|53...|57P..|58030)$/
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
const NETWORK_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])
/** How node-postgres says without a code that its connection is gone, or that an answer did not come in time. */
const PG_CLIENT_LOSS =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout|timeout expired|timeout exceeded when trying to connect)/

const sqlstateOf = (error: object) =>
  'severity' in error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** @param error anything thrown by a lane's Postgres transaction or by the decision within it. */
export function fateOf(error: unknown): Fate {
  if (!(error instanceof Error)) return { kind: 'halt', detail: `threw ${String(error)}` }
  const said = describeError(error)
  const detail = `${said.code ?? said.name}: ${said.message}`
  const sqlstate = sqlstateOf(error)
  if (sqlstate === undefined) return isPassing(error) ? { kind: 'retry', reason: detail } : { kind: 'halt', detail }
  if (TRANSIENT.test(sqlstate)) return { kind: 'retry', reason: detail }
  if (DATA_EXCEPTION.test(sqlstate)) return { kind: 'bisect', detail }
  const constraint = 'constraint' in error && typeof error.constraint === 'string' ? error.constraint : undefined
  if (sqlstate.startsWith('23') && constraint !== undefined && RECORD_CONSTRAINTS.has(constraint))
    return { kind: 'bisect', detail }
  return { kind: 'halt', detail }
}

/** The connection is gone, COMMIT answered ROLLBACK (unknown: the batch is idempotent), or the registry is away. */
function isPassing(error: Error): boolean {
  if (error.name === 'RolledBack' || error.name === 'RegistryUnavailable') return true
  if ('code' in error && typeof error.code === 'string' && NETWORK_CODES.has(error.code)) return true
  return PG_CLIENT_LOSS.test(error.message)
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
