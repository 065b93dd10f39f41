import { z } from 'zod'
import { loadMerchants } from '../providers/merchants.ts'
import { COMMON, KAFKA, port, readConfig, readTogether, REGISTRY } from '../runtime/config.ts'
import { integer, redisUrl } from '../runtime/variables.ts'

const count = (min: number, max: number, fallback: number) => integer(min, max).default(fallback)

export const GATEWAY = {
  ...COMMON,
  ...KAFKA,
  ...REGISTRY,
  PORT: port(8080),
  /** A directory with one `<merchant>.json` per merchant. */
  MERCHANTS_DIR: z.string(),
  /** Between two looks at the merchants' files, which are loaded once they rest that long; 0: only on SIGHUP. */
  MERCHANTS_RELOAD_MS: count(0, 3_600_000, 5_000),
  /** Knows for two days what is in Kafka, so that repeats need not go there; without it they all do. */
  REDIS_URL: redisUrl.optional(),
  /** How long an answer of Redis is waited for, which a callback then takes longer at worst. */
  REDIS_ANSWER_MS_MAX: count(1, 1_000, 20),
  /** The least time between two rounds of produce calls; the first of a quiet moment does not wait. */
  PUBLISH_INTERVAL_MS: count(0, 100, 10),
  /** Callbacks read and not yet answered; more are refused as overload, and beyond four fifths those of one route. */
  IN_FLIGHT_MAX: count(1, 100_000, 4_096),
  CONNECTIONS_MAX: count(1, 100_000, 10_000),
  KEEP_ALIVE_MS: count(100, 600_000, 65_000),
}

export type GatewayConfig = ReturnType<typeof readGatewayConfig>
export const readGatewayConfig = (env: NodeJS.ProcessEnv) => readConfig(GATEWAY, env)

/** The environment and the merchants' files. @throws BadConfiguration naming every mistake of both */
export const readGateway = (env: NodeJS.ProcessEnv) =>
  readTogether({
    config: () => readGatewayConfig(env),
    merchants: () => loadMerchants(readConfig({ MERCHANTS_DIR: GATEWAY.MERCHANTS_DIR }, env).MERCHANTS_DIR),
  })
