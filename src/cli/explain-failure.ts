import { BadConfiguration } from '../runtime/config.ts'
import { isDatabaseTrouble, isUnmigrated } from '../runtime/postgres-fault.ts'
import { CliFailure, EXIT } from './failure.ts'

const KAFKA_ERROR = /^KafkaJS|^Kafka/

/** Turns whatever a verb threw into a failure with an exit code and a remedy; a surprise keeps its message only. */
export function explainFailure(error: unknown): CliFailure {
  if (error instanceof CliFailure) return error
  if (!(error instanceof Error)) return new CliFailure(EXIT.undecided, String(error))
  const failure = (exitCode: 2 | 3, message: string, remedy: string) => new CliFailure(exitCode, message, remedy, error)
  if (error instanceof BadConfiguration)
    return failure(EXIT.usage, error.message, 'Set the environment variables named above (or NAME_FILE).')
  if (error.name === 'RegistryUnavailable')
    return failure(
      EXIT.undecided,
      `The schema registry does not answer: ${error.message}`,
      'Check SCHEMA_REGISTRY_URL.',
    )
  if (isUnmigrated(error))
    return failure(EXIT.undecided, `The database lacks a table: ${error.message}`, 'Run: paidonce migrate')
  if (hasUnknownCodec(error))
    return failure(EXIT.undecided, error.message, 'Somebody else than a lane writes to that topic.')
  // Kafka first: a refused connection to a broker carries the same code as one to Postgres.
  if (isKafkaError(error))
    return failure(EXIT.undecided, `Kafka does not answer: ${error.message}`, 'Check KAFKA_BROKERS and that it runs.')
  const sqlState = (error as { code?: unknown }).code
  if (typeof sqlState === 'string' && /^28|^3D000$/.test(sqlState))
    return failure(EXIT.undecided, `Postgres lets nobody in: ${error.message}`, 'Check DATABASE_URL.')
  if (isDatabaseTrouble(error))
    return failure(
      EXIT.undecided,
      `Postgres does not answer: ${describe(error)}`,
      'Check DATABASE_URL and that it runs.',
    )
  return failure(EXIT.undecided, describe(error), 'For its stack, run it again with LOG_LEVEL=debug.')
}

const isKafkaError = (error: Error): boolean =>
  KAFKA_ERROR.test(error.name) || (error.cause instanceof Error && isKafkaError(error.cause))

const hasUnknownCodec = (error: Error) => error.cause instanceof Error && error.cause.name === 'KafkaJSNotImplemented'

/** Node's error for "every address refused" has an empty message. */
const describe = (error: Error): string =>
  error instanceof AggregateError && error.message === ''
    ? error.errors.map((each) => (each instanceof Error ? each.message : String(each))).join('; ')
    : error.message
