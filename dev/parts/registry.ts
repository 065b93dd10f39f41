import { mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { cacheDir, hashOf, isCached, once } from './cache.ts'
import { startPart, type Part } from './part.ts'
import { choosePort } from './ports.ts'
import { GO, requirePrograms } from './prerequisites.ts'
import { step } from './progress.ts'
import { mustRun } from './run.ts'

const SOURCE = join(import.meta.dirname, '..', 'registry')
const PROGRAM = 'github.com/axonops/axonops-schema-registry/cmd/schema-registry'

export interface RegistryOptions {
  readonly dir: string
  readonly preferredPort?: number
  /** A Postgres to keep schemas and ids in (a database `schema_registry`); without one, memory. */
  readonly postgresUrl?: string
}

export interface SchemaRegistry extends Part {
  /** What `SCHEMA_REGISTRY_URL` is set to. */
  readonly url: string
}

/** Starts a schema registry that speaks Confluent's REST dialect; built from source once per user. */
export async function startRegistry(options: RegistryOptions): Promise<SchemaRegistry> {
  const program = await registryProgram()
  const port = await choosePort(options.preferredPort)
  const dir = join(options.dir, 'registry')
  mkdirSync(dir, { recursive: true })
  const config = join(dir, 'config.json')
  // JSON is YAML too. Ids must outlive a restart where the topics do, as every record carries one.
  const settings = {
    server: { host: '127.0.0.1', port },
    storage: options.postgresUrl === undefined ? { type: 'memory' } : postgresStorage(options.postgresUrl),
    compatibility: { default_level: 'BACKWARD' },
    logging: { level: 'warn' },
  }
  writeFileSync(config, JSON.stringify(settings, undefined, 2), { mode: 0o600 })
  const url = `http://127.0.0.1:${port}`
  const part = await startPart({
    name: 'registry',
    launch: { command: program, args: ['-config', config], logFile: join(options.dir, 'registry.log'), cwd: dir },
    stopSignal: 'SIGTERM',
    readyMs: 30_000,
    answers: async () => {
      const answer = await fetch(`${url}/subjects`, { signal: AbortSignal.timeout(2_000) })
      if (!answer.ok) throw new Error(`/subjects answered ${answer.status}`)
    },
  })
  return Object.defineProperties({ url }, Object.getOwnPropertyDescriptors(part)) as SchemaRegistry
}

function postgresStorage(url: string) {
  const { hostname, port, username, password } = new URL(url)
  return {
    type: 'postgresql',
    postgresql: {
      ...{ host: hostname, port: Number(port), user: username, password },
      ...{ database: REGISTRY_DATABASE, ssl_mode: 'disable', max_open_conns: 5 },
    },
  }
}
export const REGISTRY_DATABASE = 'schema_registry'

const cacheName = () => `registry-${hashOf([join(SOURCE, 'go.mod'), join(SOURCE, 'go.sum')])}`
export const isRegistryCached = (): boolean => isCached(cacheName())

/** Builds it once per user. @returns the program's path @throws MissingPrograms without Go */
export async function registryProgram(): Promise<string> {
  const dir = await once(cacheName(), async (target) => {
    const [go = ''] = await requirePrograms([GO])
    // Go wants a home for its modules; a user without one gets it in our cache.
    const env = { HOME: homedir(), GOFLAGS: '-buildvcs=false', ...process.env }
    if (process.env['HOME'] === undefined) env.HOME = cacheDir()
    await step('building the schema registry with Go', 'the first time; a minute or two on two idle cores', () =>
      mustRun(go, ['build', '-o', join(target, 'schema-registry'), PROGRAM], { cwd: SOURCE, env }),
    )
  })
  return join(dir, 'schema-registry')
}
