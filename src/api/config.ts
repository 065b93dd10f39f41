import { z } from 'zod'
import { COMMON, KAFKA, POSTGRES, port, readConfig } from '../runtime/config.ts'
import { integer } from '../runtime/variables.ts'

export const API_SHAPE = {
  ...COMMON,
  ...POSTGRES,
  TOPIC_PREFIX: KAFKA.TOPIC_PREFIX,
  /** For replays only: without brokers all the rest works. */
  KAFKA_BROKERS: KAFKA.KAFKA_BROKERS.optional(),
  KAFKA_SASL_MECHANISM: KAFKA.KAFKA_SASL_MECHANISM,
  KAFKA_SASL_USERNAME: KAFKA.KAFKA_SASL_USERNAME,
  KAFKA_SASL_PASSWORD: KAFKA.KAFKA_SASL_PASSWORD,
  KAFKA_SSL: KAFKA.KAFKA_SSL,
  PORT: port(8081),
  /** The api is internal: it listens to this machine only, unless told otherwise. */
  HOST: z.string().min(1).default('127.0.0.1'),
  /** How long a command is waited for before the answer is 202. */
  COMMAND_WAIT_MS: integer(0, 30_000).default(3_000),
  /** `?refresh=true`: how long an answer is waited for, how often an order is asked about so, and a token asks so. */
  REFRESH_WAIT_MS: integer(0, 30_000).default(3_000),
  REFRESH_EVERY_MS: integer(0, 3_600_000).default(5_000),
  REFRESH_PER_SEC: integer(1, 10_000).default(50),
  BODY_BYTES_MAX: integer(1_024, 52_428_800).default(5_242_880),
  IN_FLIGHT_MAX: integer(1, 10_000).default(256),
  CONNECTIONS_MAX: integer(1, 100_000).default(1_000),
  DATABASE_CONNECTIONS_MAX: integer(1, 200).default(10),
}

export const readApiConfig = (env: NodeJS.ProcessEnv) => readConfig(API_SHAPE, env)
export type ApiConfig = ReturnType<typeof readApiConfig>
