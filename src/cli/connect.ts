import type pg from 'pg'
import { COMMON, KAFKA, POSTGRES, readConfig } from '../runtime/config.ts'
import type { KafkaSettings } from '../runtime/kafka/connection.ts'
import { createLog, type Log } from '../runtime/log.ts'
import type { PoolLimits } from '../runtime/postgres.ts'

/** Silent unless LOG_LEVEL is set, and never on stdout, where a program may read the answer. */
export const cliLog = (env: NodeJS.ProcessEnv): Log =>
  createLog(
    'cli',
    readConfig({ LOG_LEVEL: COMMON.LOG_LEVEL.unwrap().default('silent') }, env).LOG_LEVEL,
    process.stderr,
  )

/** True where the process itself would find a value. */
export const isSet = (env: NodeJS.ProcessEnv, name: string): boolean =>
  [env[name], env[`${name}_FILE`]].some((value) => value !== undefined && value !== '')

/** For verbs that run no long statements: a frozen server is not waited for without end. */
export const ANSWERING: PoolLimits = { answerMs: 45_000 }

/** Runs `work` with a pool on DATABASE_URL. The libraries are loaded only by the verbs that need them. */
export async function withDatabase<T>(
  env: NodeJS.ProcessEnv,
  work: (pool: pg.Pool) => Promise<T>,
  limits: PoolLimits = {},
): Promise<T> {
  const { DATABASE_URL } = readConfig(POSTGRES, env)
  const { createPool } = await import('../runtime/postgres.ts')
  const { endConnections } = await import('../runtime/end-connections.ts')
  const pool = createPool(DATABASE_URL, 'paidonce-cli', cliLog(env), 2, limits)
  const clients = new Set<pg.PoolClient>()
  pool.on('connect', (client) => void clients.add(client))
  try {
    return await work(pool)
  } finally {
    await endConnections(() => pool.end(), clients)
  }
}

export interface KafkaAccess {
  readonly settings: KafkaSettings
  readonly topicPrefix: string
  readonly allowSingleReplica: boolean
}

export async function readKafka(env: NodeJS.ProcessEnv): Promise<KafkaAccess> {
  const config = readConfig(KAFKA, env)
  const { kafkaSettings } = await import('../runtime/kafka/connection.ts')
  return {
    settings: kafkaSettings(config),
    topicPrefix: config.TOPIC_PREFIX,
    allowSingleReplica: config.ALLOW_SINGLE_REPLICA,
  }
}
