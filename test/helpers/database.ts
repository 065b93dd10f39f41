import { createHash, randomBytes } from 'node:crypto'
import pg from 'pg'
import { migrate, readMigrations } from '../../src/store/migrate.ts'
import { stackEnv } from './stack.ts'

export interface TestDatabase {
  readonly url: string
  readonly pool: pg.Pool
  /** Ends the pool and drops the database, whoever is still connected. */
  readonly drop: () => Promise<void>
}

/** Any number that nothing else locks in the stack's first database. */
const TEMPLATE_LOCK = 7_205_711_399

/**
 * A new, migrated, empty database: a copy of a template that is made once per version of the migrations
 * (a copy takes about 60 ms, migrating each time several times that).
 * @param serverUrl any database of the server; default the stack's
 */
export async function createDatabase(serverUrl: string = stackEnv().DATABASE_URL): Promise<TestDatabase> {
  const template = await ensureTemplate(serverUrl)
  const name = `test_${Date.now().toString(36)}_${randomBytes(4).toString('hex')}`
  await onServer(serverUrl, (client) => client.query(`create database ${name} template ${template}`))
  const url = urlOf(serverUrl, name)
  const pool = poolOf(url, 8)
  return {
    url,
    pool,
    drop: async () => {
      await pool.end()
      await onServer(serverUrl, (client) => client.query(`drop database if exists ${name} with (force)`))
    },
  }
}

/** Runs `work` with a database of its own, which is dropped afterwards. */
export async function withDatabase<T>(work: (url: string, pool: pg.Pool) => Promise<T>): Promise<T> {
  const database = await createDatabase()
  try {
    return await work(database.url, database.pool)
  } finally {
    await database.drop()
  }
}

async function ensureTemplate(serverUrl: string): Promise<string> {
  const hash = createHash('sha256')
  for (const migration of readMigrations()) hash.update(migration.sha256)
  const name = `template_${hash.digest('hex').slice(0, 12)}`
  await onServer(serverUrl, async (client) => {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK])
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name])
    if (rowCount === 1) return
    const making = `${name}_making`
    await client.query(`drop database if exists ${making} with (force)`)
    await client.query(`create database ${making}`)
    const pool = poolOf(urlOf(serverUrl, making), 1)
    try {
      await migrate(pool)
    } finally {
      await pool.end()
    }
    // A backend lives a moment longer than its client's connection; a database in use cannot be renamed.
    await client.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1', [making])
    await client.query(`alter database ${making} rename to ${name}`)
  })
  return name
}

/** A pool whose connections may be cut by a forced drop, by the server or by a fault test at any time. */
function poolOf(url: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max, connectionTimeoutMillis: 10_000 })
  pool.on('error', () => undefined)
  // A client that ends is no longer the pool's, and its last words would be nobody's.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

async function onServer<T>(serverUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: serverUrl, connectionTimeoutMillis: 10_000 })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => undefined) // which also gives the advisory lock back
  }
}

function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return url.href
}
