import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { brokers, flag, httpUrl, integer, postgresUrl } from './variables.ts'

/** Thrown when the environment does not make sense; a `main.ts` prints the message and exits 2. */
export class BadConfiguration extends Error {
  override readonly name = 'BadConfiguration'
}

/**
 * Reads the environment once and reports every mistake at once.
 * `X_FILE` stands in for `X`: the value is the file's content without its last line feed (mounted secrets).
 * @returns frozen, typed values; nothing reads `process.env` after this.
 */
export function readConfig<Shape extends z.ZodRawShape>(shape: Shape, env: NodeJS.ProcessEnv) {
  const problems: string[] = []
  const values: Record<string, string> = {}
  for (const name of Object.keys(shape)) {
    const file = env[`${name}_FILE`]
    const plain = env[name]
    if (file !== undefined && plain !== undefined) problems.push(`✖ ${name} and ${name}_FILE are both set: keep one`)
    const value = file === undefined ? plain : readSecret(name, file, problems)
    if (value !== undefined && value !== '') values[name] = value
  }
  const parsed = z.object(shape).safeParse(values)
  for (const { path, message } of parsed.error?.issues ?? [])
    problems.push(`✖ ${path.join('.')} ${values[String(path[0])] === undefined ? 'must be set' : message}`)
  if ('KAFKA_SASL_MECHANISM' in shape) problems.push(...saslProblems(values))
  if (problems.length > 0 || !parsed.success) throw new BadConfiguration(`Bad configuration:\n${problems.join('\n')}`)
  return Object.freeze(parsed.data)
}

const SASL = ['KAFKA_SASL_MECHANISM', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'] as const

/** SASL needs all three or none. */
export function saslProblems(values: { readonly [name in (typeof SASL)[number]]?: unknown }): string[] {
  const missing = SASL.filter((name) => values[name] === undefined)
  if (missing.length === 0 || missing.length === SASL.length) return []
  return [`✖ ${missing.join(', ')} must be set too: SASL needs all three`]
}

/**
 * Asks several readers (the environment, the files that it names), so that the mistakes of one hide none of another.
 * @throws BadConfiguration with what all of them said, each line once
 */
export function readTogether<Values extends Record<string, unknown>>(readers: {
  readonly [Name in keyof Values]: () => Values[Name]
}): Values {
  const lines = new Set<string>()
  const read = ([name, reader]: [string, () => unknown]) => {
    try {
      return [name, reader()]
    } catch (error) {
      if (!(error instanceof BadConfiguration)) throw error
      for (const line of error.message.split('\n')) lines.add(line)
      return []
    }
  }
  const values = Object.entries<() => unknown>(readers).map(read)
  if (lines.size > 0) throw new BadConfiguration([...lines].join('\n'))
  return Object.fromEntries(values) as Values
}

function readSecret(name: string, file: string, problems: string[]): string | undefined {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch {
    problems.push(`✖ ${name}_FILE: cannot read ${file}`)
    return undefined
  }
}

export const port = (fallback: number) => integer(0, 65_535).default(fallback)

/** What every process has; 0 as a port means "any free one". */
export const COMMON = {
  APP_ID: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,40}$/, 'must be 1 to 41 of a-z, 0-9 and -')
    .default('paidonce'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  METRICS_PORT: port(9464),
}
export const KAFKA = {
  KAFKA_BROKERS: brokers,
  KAFKA_SASL_MECHANISM: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).optional(),
  KAFKA_SASL_USERNAME: z.string().optional(),
  KAFKA_SASL_PASSWORD: z.string().optional(),
  KAFKA_SSL: flag,
  /** Put before every topic name, so that several installations can share a cluster. */
  TOPIC_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._-]{0,100}$/)
    .default(''),
  ALLOW_SINGLE_REPLICA: flag,
}
export const REGISTRY = { SCHEMA_REGISTRY_URL: httpUrl }
export const POSTGRES = { DATABASE_URL: postgresUrl }

/** How long what grows is kept, by whoever maintains the tables: any processor, or the command line. */
export const GROWTH = {
  /** Partitions made before their day comes. */
  PARTITIONS_AHEAD_DAYS: integer(2, 60).default(7),
  /** History for people only. */
  DELIVERIES_KEEP_DAYS: integer(1, 3_650).default(30),
  /** The audit compares as many days with Kafka; never dropped before they are surely there. */
  EVENTS_KEEP_DAYS: integer(1, 3_650).default(35),
  /** Finished orders that nothing has changed for so long leave the tables of the living; 0: never. */
  ARCHIVE_AFTER_DAYS: integer(0, 36_500).default(400),
  /** Dead letters that are replayed or discarded, finished replays and released brakes; 0: for ever. */
  SETTLED_KEEP_DAYS: integer(0, 36_500).default(400),
  /** Finished commands, and with them their idempotency keys, of orders that are not archived by then; 0: for ever. */
  COMMANDS_KEEP_DAYS: integer(0, 36_500).default(800),
}
