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
  if (!parsed.success) problems.push(z.prettifyError(parsed.error))
  if (problems.length > 0 || !parsed.success) throw new BadConfiguration(`Bad configuration:\n${problems.join('\n')}`)
  return Object.freeze(parsed.data)
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
