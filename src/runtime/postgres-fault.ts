/** Trouble around a statement, not with it: the same statement may well succeed a moment later. */
const TRANSIENT_SQLSTATE = /^(?:08...|40001|40P01|55P03|57014|57P..|53...|25P03|25006|58030)$/
const CONNECTION_LOST =
  /^(?:Connection terminated|Client has encountered a connection error|Query read timeout|timeout (?:expired|exceeded))/
const CONNECTION_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
])

/**
 * True when Postgres is away, starting, stopping, full or busy with somebody else's lock. After a lost connection the
 * outcome of a COMMIT is unknown: only what is idempotent may be tried again.
 */
export function isDatabaseTrouble(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = (error as { code?: unknown }).code
  if (typeof code === 'string') return TRANSIENT_SQLSTATE.test(code) || CONNECTION_CODES.has(code)
  if (error instanceof AggregateError) return error.errors.some(isDatabaseTrouble)
  return error.name === 'RolledBack' || CONNECTION_LOST.test(error.message)
}

/** The tables are missing: the database was never migrated. */
export const isUnmigrated = (error: unknown): boolean =>
  error instanceof Error && ['42P01', '42703', '3F000'].includes(String((error as { code?: unknown }).code))

/** A value or a constraint: the data of this statement, whatever happens around it. */
export const isDataFault = (error: unknown): boolean => /^2[23]...$/.test(sqlStateOf(error))

/** Somebody else's lock was not given back in time. */
export const isBusy = (error: unknown): boolean => sqlStateOf(error) === '55P03'

function sqlStateOf(error: unknown): string {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : ''
}
