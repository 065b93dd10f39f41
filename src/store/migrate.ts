import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type pg from 'pg'
import { transactionOn } from '../runtime/postgres.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  readonly sha256: string
}

/** An applied migration's file was changed afterwards: databases would differ without anyone knowing. */
export class MigrationChanged extends Error {
  override readonly name = 'MigrationChanged'
}

const FOLDER = new URL('./migrations/', import.meta.url)
/** Any number will do, as long as nothing else in the database locks it. */
const LOCK = 7_205_711_304
const LOCK_WAIT_MS_MAX = 60_000

/** The migrations that this version brings, in order. A number may be missing where work went on side by side. */
export function readMigrations(folder: URL = FOLDER): readonly Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'))
  let last = 0
  return names.sort().map((name) => {
    const number = Number(/^(\d{4})_/.exec(name)?.[1])
    if (!(number > last)) throw new Error(`migrations/${name}: expected a number above ${last}`)
    last = number
    const sql = readFileSync(new URL(name, folder), 'utf8')
    return { number, name, sql, sha256: createHash('sha256').update(sql).digest('hex') }
  })
}

/**
 * Applies what is missing, each file in its own transaction, under an advisory lock, so that several processes may
 * call it at once. A database that is ahead of this version is left as it is.
 * @returns the names of the migrations that this call applied.
 * @throws MigrationChanged when the file of an applied migration differs from what was applied.
 */
export async function migrate(pool: pg.Pool, migrations = readMigrations()): Promise<string[]> {
  const client = await pool.connect()
  let failure: Error | undefined
  try {
    await client.query(`set statement_timeout = 0; set lock_timeout = ${LOCK_WAIT_MS_MAX}`)
    await client.query('select pg_advisory_lock($1)', [LOCK])
    await client.query(`create table if not exists schema_migrations (
      number int primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now())`)
    const done = await appliedMigrations(client)
    const missing: Migration[] = []
    for (const migration of migrations) {
      const sha256 = done.get(migration.number)
      if (sha256 === undefined) missing.push(migration)
      else if (sha256 !== migration.sha256)
        throw new MigrationChanged(`migrations/${migration.name} was changed after it was applied: add a new file`)
    }
    for (const { number, name, sql, sha256 } of missing) {
      await transactionOn(client, async (tx) => {
        await tx.query(sql)
        await tx.query('insert into schema_migrations (number, name, sha256) values ($1, $2, $3)', [
          number,
          name,
          sha256,
        ])
      })
    }
    return missing.map(({ name }) => name)
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error))
    throw error
  } finally {
    // The session's settings and lock end with the connection: it is not given back to the pool.
    client.release(failure ?? true)
  }
}

/** @returns the names of the migrations that the database still lacks; processes wait until there are none. */
export async function missingMigrations(db: Pick<pg.ClientBase, 'query'>): Promise<string[]> {
  const { rows } = await db.query<{ there: boolean }>(`select to_regclass('schema_migrations') is not null as there`)
  const done = rows[0]?.there === true ? await appliedMigrations(db) : new Map<number, string>()
  return readMigrations()
    .filter(({ number }) => !done.has(number))
    .map(({ name }) => name)
}

async function appliedMigrations(db: Pick<pg.ClientBase, 'query'>): Promise<Map<number, string>> {
  const { rows } = await db.query<{ number: number; sha256: string }>('select number, sha256 from schema_migrations')
  return new Map(rows.map(({ number, sha256 }) => [number, sha256]))
}
