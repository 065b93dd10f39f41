import type pg from 'pg'
import type { Queryable } from '../runtime/postgres.ts'

/** Named: Postgres parses and plans it once per connection. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** Runs a statement; rows come as arrays, which costs half of rows as objects. */
export async function rowsOf<Row extends unknown[]>(
  db: Queryable,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  const config: pg.QueryArrayConfig = { ...statement, values: [...values], rowMode: 'array' }
  const { rows } = await db.query<Row>(config)
  return rows
}

/** A bigint arrives as text; beyond 2^53 it would become another number silently. */
export function int(value: unknown): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number)) throw new RangeError(`${String(value)} is no safe integer`)
  return number
}
export const intOrNull = (value: unknown): number | null => (value === null ? null : int(value))

/** SQL for a timestamp column in milliseconds since 1970. */
export const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::int8`
