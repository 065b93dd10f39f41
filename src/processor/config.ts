import { COMMON, GROWTH, KAFKA, POSTGRES, readConfig, REGISTRY } from '../runtime/config.ts'
import { integer } from '../runtime/variables.ts'
import { policies } from './policies-config.ts'

const milliseconds = (min: number, max: number, fallback: number) => integer(min, max).default(fallback)
const seconds = milliseconds

export const PROCESSOR = {
  ...COMMON,
  ...KAFKA,
  ...REGISTRY,
  ...POSTGRES,
  ...GROWTH,
  /** How long a lane waits for a fuller fetch after a small batch. */
  LINGER_MS: milliseconds(0, 1_000, 20),
  /** How soon a lane looks for held facts, commands and timers that no NOTIFY told it of. */
  WAKE_INTERVAL_MS: milliseconds(50, 60_000, 2_000),
  /** How long the group waits for a silent processor before its lanes go to others. */
  SESSION_TIMEOUT_MS: milliseconds(1_000, 120_000, 10_000),
  BATCH_RECORDS_MAX: milliseconds(1, 1_000, 1_000),
  /** How long a fact waits for its order or its payment before it becomes an anomaly. */
  HELD_LIMIT_SEC: seconds(1, 30 * 86_400, 86_400),
  /** How long after `expires_at` an unpaid order is closed. */
  EXPIRY_GRACE_SEC: seconds(0, 86_400, 60),
  /** How much longer it stays open at most, until its provider was asked for the last time; 0: not for that. */
  EXPIRY_ASK_SEC: seconds(0, 86_400, 0),
  /** What is answered without a person, by merchant and kind of anomaly; the same for every processor. */
  POLICIES: policies,
  /** How often it looks whether partitions are to be made or dropped, and orders to be archived. */
  MAINTENANCE_INTERVAL_SEC: seconds(1, 86_400, 300),
}

export type ProcessorConfig = ReturnType<typeof readProcessorConfig>
export const readProcessorConfig = (env: NodeJS.ProcessEnv) => readConfig(PROCESSOR, env)
