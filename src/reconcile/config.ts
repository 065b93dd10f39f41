import { z } from 'zod'
import { loadForWatch } from '../providers/query-clients.ts'
import { COMMON, KAFKA, POSTGRES, readConfig, readTogether, REGISTRY } from '../runtime/config.ts'
import { integer } from '../runtime/variables.ts'
import type { Schedule } from './schedule.ts'

const DAY_MS = 86_400_000

export const RECONCILER = {
  ...COMMON,
  ...KAFKA,
  ...REGISTRY,
  ...POSTGRES,
  /** What verifies a provider's answers, as the gateway has it. */
  MERCHANTS_DIR: z.string().min(1),
  /** What signs questions: the merchants' private keys; beside this only an operator's run of a bill reads them. */
  QUERY_KEYS_DIR: z.string().min(1),
  /** Between two looks at both folders; 0: they are read at the start and never again. */
  MERCHANTS_RELOAD_MS: integer(0, 3_600_000).default(5_000),
  /** How old a pending order is when it is asked about first; every later gap is as long as it is old by then. */
  QUERY_FIRST_MS: integer(100, DAY_MS).default(60_000),
  /** Over which time questions are spread that would be due at one moment. */
  QUERY_SPREAD_MS: integer(0, 3_600_000).default(30_000),
  /** How long after an order's expiry its last question is tried, while nobody answers it. */
  QUERY_LAST_MS: integer(0, DAY_MS).default(1_800_000),
  /** How long before its limit a held fact is asked about. */
  QUERY_HELD_BEFORE_MS: integer(0, 30 * DAY_MS).default(3_600_000),
  QUERY_HELD_TRIES_MAX: integer(1, 20).default(3),
  QUERY_HINT_TRIES_MAX: integer(1, 20).default(10),
  /** How soon it looks for pending orders, and for what is due and nobody told of. */
  QUERY_SWEEP_MS: integer(50, 60_000).default(5_000),
  QUERY_LOOK_MS: integer(50, 60_000).default(1_000),
  /** How long a provider's answer is waited for, and Kafka's acknowledgement. */
  QUERY_ANSWER_MS_MAX: integer(100, 60_000).default(10_000),
  QUERY_PUBLISH_MS_MAX: integer(100, 60_000).default(10_000),
  /** Questions of one merchant at a time, each to each of its providers; and of all. */
  QUERY_PER_MERCHANT_MAX: integer(1, 1_000).default(8),
  QUERY_IN_FLIGHT_MAX: integer(1, 10_000).default(64),
}

export const readReconcilerConfig = (env: NodeJS.ProcessEnv) => readConfig(RECONCILER, env)
export type ReconcilerConfig = ReturnType<typeof readReconcilerConfig>

/** The environment and the files that it names. @throws BadConfiguration naming everything that is wrong in both */
export const readReconcilerSetup = (env: NodeJS.ProcessEnv) =>
  readTogether({
    config: () => readReconcilerConfig(env),
    keys: () => {
      const { MERCHANTS_DIR, QUERY_KEYS_DIR } = RECONCILER
      const dirs = readConfig({ MERCHANTS_DIR, QUERY_KEYS_DIR }, env)
      return loadForWatch({ queryKeysDir: dirs.QUERY_KEYS_DIR, merchantsDir: dirs.MERCHANTS_DIR })
    },
  })

export const scheduleOf = (config: ReconcilerConfig): Schedule => ({
  firstMs: config.QUERY_FIRST_MS,
  spreadMs: config.QUERY_SPREAD_MS,
  lastMs: config.QUERY_LAST_MS,
  heldTriesMax: config.QUERY_HELD_TRIES_MAX,
  hintTriesMax: config.QUERY_HINT_TRIES_MAX,
  lookMs: Math.min(3_600_000, 60 * config.QUERY_FIRST_MS),
})

/** Longer than asking and publishing can take: whoever holds it is dead or frozen when it ends. */
export const leaseMsOf = (config: ReconcilerConfig) =>
  1_000 + 2 * (config.QUERY_ANSWER_MS_MAX + config.QUERY_PUBLISH_MS_MAX)
