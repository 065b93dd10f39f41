import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { LoadResult } from '../../bench/http-load.ts'
import { startMeasured, type Measured } from '../../bench/processes.ts'
import { writeRequests } from '../../bench/requests.ts'
import { mintToken } from '../../src/runtime/access-token.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { insertApiToken } from '../../src/store/api-tokens.ts'
import { recordTopology } from '../../src/store/topology.ts'
import { callWith, type Call } from '../api/start-api.ts'
import { createDatabase, type TestDatabase } from './database.ts'
import { createMerchant, type SignedCallback, type TestMerchant } from './merchant.ts'
import { createTopics, type TestTopics } from './topics.ts'

/** All processes of an installation, each one of its own, as in production. */
export interface WholeSystem {
  readonly merchant: TestMerchant
  readonly topics: TestTopics
  readonly database: TestDatabase
  readonly gateway: Measured
  readonly processors: readonly Measured[]
  /** The api, as the merchant. */
  readonly call: Call
  /** Posts each of them once to the gateway, over 128 connections. @throws Error if one was not answered with success */
  readonly post: (callbacks: readonly SignedCallback[]) => Promise<LoadResult>
  readonly stop: () => Promise<void>
}

const LOAD = join(import.meta.dirname, '..', '..', 'bench', 'http-load.ts')
const CONNECTIONS = '128'
const run = promisify(execFile)

export async function startWholeSystem(options: {
  readonly partitions: number
  readonly processors: number
  readonly env?: Readonly<Record<string, string>>
}): Promise<WholeSystem> {
  const { partitions } = options
  const merchant = createMerchant()
  const dir = mkdtempSync(join(tmpdir(), 'paidonce-load-'))
  const [topics, database] = await Promise.all([createTopics({ partitions }), createDatabase()])
  await recordTopology(database.pool, topics.name(INPUT_TOPIC), partitions)
  const { token, hash } = mintToken()
  const of = { name: 'shop', merchant: merchant.name, role: 'merchant', expiresAtMs: null } as const
  await insertApiToken(database.pool, { ...of, tokenHash: hash })
  const env = {
    ...{ APP_ID: topics.appId, TOPIC_PREFIX: topics.prefix, DATABASE_URL: database.url },
    ...{ MERCHANTS_DIR: merchant.dir, SESSION_TIMEOUT_MS: '6000', ...options.env },
  }
  const started: Measured[] = []
  const start = async (main: string) => {
    const process = await startMeasured(main, env)
    started.push(process)
    return process
  }
  const stop = async () => {
    await Promise.all(started.map((process) => process.stop()))
    rmSync(dir, { recursive: true, force: true })
    merchant.remove()
    await Promise.all([topics.drop(), database.drop()])
  }
  try {
    const processors = Array.from({ length: options.processors }, () => start('src/processor/main.ts'))
    const [gateway, api] = await Promise.all([start('src/gateway/main.ts'), start('src/api/main.ts'), ...processors])
    let files = 0
    return {
      ...{ merchant, topics, database, stop, gateway, processors: await Promise.all(processors) },
      call: callWith(`http://127.0.0.1:${api.port}`, token),
      post: async (callbacks) => {
        const file = join(dir, String(files++))
        writeRequests(file, callbacks)
        const { stdout } = await run(process.execPath, [LOAD, file, String(gateway.port), CONNECTIONS, 'once'])
        const result = JSON.parse(stdout) as LoadResult
        if (result.success !== callbacks.length)
          throw new Error(`${callbacks.length - result.success} of ${callbacks.length} answers were no success`)
        return result
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}
