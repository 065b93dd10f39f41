import { z } from 'zod'
import { COMMON, readConfig } from '../runtime/config.ts'
import { integer, share } from '../runtime/variables.ts'

const count = (min: number, max: number, fallback: number) => integer(min, max).default(fallback)
const httpUrl = z.url({ protocol: /^http$/, error: 'must be an http address' })

export const SIMULATOR = {
  LOG_LEVEL: COMMON.LOG_LEVEL,
  /** Addresses of the gateways, separated by commas. */
  GATEWAY_URLS: z
    .string()
    .transform((list) => list.split(',').map((url) => url.trim()))
    .pipe(z.array(httpUrl).min(1)),
  API_URL: httpUrl,
  API_TOKEN: z.string().min(1),
  /** Where `senders.json` is. */
  SENDERS_DIR: z.string().min(1),
  SIMULATION_LOG: z.string().min(1).default('simulation.jsonl'),
  /** Nothing given: drawn anew, and printed. */
  SEED: integer(1, 4_294_967_295).optional(),
  ORDERS: count(1, 1_000_000, 1_000),
  DELIVERIES_PER_ORDER: count(1, 100, 5),
  SPREAD_MS: count(1, 86_400_000, 10_000),
  AGAIN_MS: count(1, 86_400_000, 5_000),
  ALIPAY_SHARE: share.default(0.5),
  REPORT_SHARE: share.default(0.2),
  IN_FLIGHT_MAX: count(1, 10_000, 64),
  RETRY_SCALE: share.default(0.01),
}

export type SimulatorConfig = ReturnType<typeof readSimulatorConfig>
export const readSimulatorConfig = (env: NodeJS.ProcessEnv) => readConfig(SIMULATOR, env)
