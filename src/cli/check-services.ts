import { KAFKA, POSTGRES, readConfig, REGISTRY } from '../runtime/config.ts'
import { sayProblem, sortProblems, topicNames } from '../schemas/check-topics.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import type { Check } from './config-check.ts'
import { cliLog, isSet, readKafka, withDatabase } from './connect.ts'
import { explainFailure } from './explain-failure.ts'

/** Asks Postgres, Kafka and the registry whether they are as this version needs them. Changes nothing. */
export async function checkServices(env: NodeJS.ProcessEnv): Promise<Check[]> {
  const service = async (check: string, variable: string, ask: () => Promise<Omit<Check, 'check'>>): Promise<Check> => {
    if (!isSet(env, variable)) return { check, result: 'skipped', detail: `${variable} is not set` }
    try {
      return { check, ...(await ask()) }
    } catch (error) {
      const { message, remedy = '' } = explainFailure(error)
      return { check, result: 'undecided', detail: `${message}\n${remedy}`.trim() }
    }
  }
  return [
    await service('postgres', 'DATABASE_URL', () => checkDatabase(env)),
    await service('topics', 'KAFKA_BROKERS', () => checkTopics(env, isSet(env, 'DATABASE_URL'))),
    await service('schemas', 'SCHEMA_REGISTRY_URL', () => checkSchemas(env)),
  ]
}

const OK = { result: 'ok', detail: '' } as const

async function checkDatabase(env: NodeJS.ProcessEnv): Promise<Omit<Check, 'check'>> {
  readConfig(POSTGRES, env)
  const { missingMigrations } = await import('../store/migrate.ts')
  const missing = await withDatabase(env, missingMigrations)
  if (missing.length === 0) return OK
  return { result: 'problem', detail: `lacks ${missing.join(', ')}\nRun: paidonce migrate` }
}

async function checkTopics(env: NodeJS.ProcessEnv, withTopology: boolean): Promise<Omit<Check, 'check'>> {
  const { settings, topicPrefix, allowSingleReplica } = await readKafka(env)
  const { createTopicAdmin } = await import('../runtime/kafka/topic-admin.ts')
  const { readTopology } = await import('../store/topology.ts')
  const recorded = withTopology
    ? await withDatabase(env, (pool) => readTopology(pool, topicPrefix + INPUT_TOPIC))
    : undefined
  const admin = createTopicAdmin(settings, cliLog(env))
  try {
    const found = await admin.describeTopics(topicNames(topicPrefix))
    const partitions = recorded === undefined ? {} : { partitions: recorded }
    const { wrong, missing } = sortProblems(found, { topicPrefix, allowSingleReplica, ...partitions })
    const problems = [...wrong, ...missing]
    if (problems.length === 0) return OK
    return { result: 'problem', detail: problems.map(sayProblem).join('\n') }
  } finally {
    await admin.close()
  }
}

async function checkSchemas(env: NodeJS.ProcessEnv): Promise<Omit<Check, 'check'>> {
  const config = readConfig({ ...REGISTRY, TOPIC_PREFIX: KAFKA.TOPIC_PREFIX }, env)
  const { createCodec } = await import('../schemas/codec.ts')
  try {
    await createCodec(config.SCHEMA_REGISTRY_URL, config.TOPIC_PREFIX, cliLog(env))
    return OK
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'SchemaNotRegistered') throw error
    return { result: 'problem', detail: `${error.message}\nRun: paidonce schemas register` }
  }
}
