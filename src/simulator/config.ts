import { z } from 'zod'
import { COMMON, readConfig } from '../runtime/config.ts'
import { integer, share } from '../runtime/variables.ts'
import { BILL_DIFFERENCES, type BillDifferenceOptions } from './bill-entries.ts'
import { QUERY_FAULTS, type QueryFaultOptions } from './query-faults.ts'
import { PAYMENT_PROVIDERS, STORIES, type ProviderShares, type StoryShares } from './stories.ts'

const count = (min: number, max: number, fallback: number) => integer(min, max).default(fallback)
const httpUrl = z.url({ protocol: /^http$/, error: 'must be an http address' })

/** `name=0.1,other=0.2`. */
const shares = (names: readonly string[]) =>
  z.string().transform((text, context) => {
    const pairs = text.split(',').map((pair) => pair.trim().split('='))
    const given: Record<string, number> = {}
    for (const [name = '', number = ''] of pairs) {
      const parsed = share.safeParse(number)
      if (names.includes(name) && parsed.success) given[name] = parsed.data
      else context.addIssue({ code: 'custom', message: `must be name=0.1,… with names of: ${names.join(', ')}` })
    }
    return given
  })

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
  DUPLICATE_SHARE: share.optional(),
  SPREAD_MS: count(1, 86_400_000, 10_000),
  AGAIN_MS: count(1, 86_400_000, 5_000),
  /** Who takes part, and how much: who is not named does not. */
  PROVIDER_SHARES: shares(PAYMENT_PROVIDERS)
    .transform((given): Partial<ProviderShares> => given)
    .refine((given) => Object.values(given).some((one) => one > 0), 'must give one of them more than 0')
    .optional(),
  /** A story that is not named keeps its share. */
  STORY_SHARES: shares(STORIES.filter((story) => story !== 'paid'))
    .transform((given): Partial<StoryShares> => given)
    .optional(),
  REPORT_SHARE: share.default(0.2),
  SLOW_SHARE: share.default(0.02),
  CUT_OFF_SHARE: share.default(0.02),
  /** Of the orders, those whose callbacks are all lost. */
  SILENT_SHARE: share.default(0),
  IN_FLIGHT_MAX: count(1, 10_000, 64),
  /** What the senders' own times are multiplied with. */
  TIME_SCALE: share.default(0.01),
  /** Where the providers answer queries, until the process is stopped; nothing given: nowhere. */
  QUERY_PORT: integer(0, 65_535).optional(),
  /** What is wrong with so many of those answers; nothing given: with none. */
  QUERY_FAULT_SHARES: shares(QUERY_FAULTS)
    .transform((given): QueryFaultOptions['shares'] => given)
    .refine((given) => Object.values(given).reduce((sum, one) => sum + one, 0) <= 1, 'must not come to more than 1')
    .default({}),
  /** What bills say otherwise, of so many of their rows; nothing given: nothing. */
  BILL_DIFFERENCE_SHARES: shares(BILL_DIFFERENCES)
    .transform((given): BillDifferenceOptions['shares'] => given)
    .refine((given) => Object.values(given).reduce((sum, one) => sum + one, 0) <= 1, 'must not come to more than 1')
    .default({}),
  QUERY_SLOW_MS: count(1, 600_000, 15_000),
}

export type SimulatorConfig = ReturnType<typeof readSimulatorConfig>
export const readSimulatorConfig = (env: NodeJS.ProcessEnv) => readConfig(SIMULATOR, env)
