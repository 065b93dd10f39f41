import { statSync } from 'node:fs'
import { z } from 'zod'
import { BadConfiguration, COMMON, KAFKA, POSTGRES, readConfig, REGISTRY } from '../runtime/config.ts'
import { httpUrl, integer, redisUrl } from '../runtime/variables.ts'

const SHAPE = {
  ...COMMON,
  ...KAFKA,
  ...REGISTRY,
  /** The consumer's own database, where its effects are. */
  ...POSTGRES,
  /** Also the consumer group. Another name is another consumer, which does everything once more. */
  CONSUMER_NAME: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,60}$/, 'must be 1 to 61 of a-z, 0-9, ., _ and -'),
  /** Events in work at a time; each holds one connection to Postgres. */
  CONCURRENCY: integer(1, 200).default(16),
  /** A lane with so many events that are not settled takes no more in. */
  OPEN_MAX: integer(1, 1_000_000).default(10_000),
  RETRY_FROM_MS: integer(1, 60_000).default(500),
  RETRY_TO_MS: integer(1, 86_400_000).default(60_000),
  /** A handler that takes longer is undone and counts as one that threw. */
  HANDLE_MS: integer(100, 600_000).default(25_000),
  /** A handler that throws so often makes its event a dead letter. */
  THROWS_MAX: integer(1, 1_000).default(8),
  /** An event that ends its process so often while nothing else is in work is kept aside. */
  KILLS_MAX: integer(1, 1_000).default(3),
  /** After so long a retry is given up. */
  RETRY_HOURS_MAX: integer(1, 8_760).default(24),
  /** What is settled; longer than the topic keeps its records (35 days as paidonce makes it). */
  KEEP_DAYS: integer(1, 3_650).default(60),
  SESSION_TIMEOUT_MS: integer(1_000, 300_000).default(10_000),
  /** Optional: the lock that keeps two from waiting for one order. */
  REDIS_URL: redisUrl.optional(),
  LOCK_SEC: integer(1, 600).default(30),
  /** Optional, with WORKER_KEYS_DIR: where reports go. */
  GATEWAY_URL: httpUrl.optional(),
  /** Has `<merchant>.key`: the `whsec_…` of the merchant's `worker` section. */
  WORKER_KEYS_DIR: z.string().optional(),
}
export type ConsumerConfig = ReturnType<typeof readConsumerConfig>

/** @throws BadConfiguration naming everything that is wrong */
export function readConsumerConfig(env: NodeJS.ProcessEnv) {
  const config = readConfig(SHAPE, env)
  const problems: string[] = []
  if ((config.GATEWAY_URL === undefined) !== (config.WORKER_KEYS_DIR === undefined))
    problems.push('✖ GATEWAY_URL and WORKER_KEYS_DIR must be set together: reports are sent there and signed')
  if (config.WORKER_KEYS_DIR !== undefined && !isDirectory(config.WORKER_KEYS_DIR))
    problems.push(`✖ WORKER_KEYS_DIR: ${config.WORKER_KEYS_DIR} is no directory`)
  if (config.RETRY_FROM_MS > config.RETRY_TO_MS) problems.push('✖ RETRY_FROM_MS must not be above RETRY_TO_MS')
  if (problems.length > 0) throw new BadConfiguration(`Bad configuration:\n${problems.join('\n')}`)
  return config
}

const isDirectory = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
