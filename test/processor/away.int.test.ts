import { expect, test } from 'vitest'
import { createTopicAdmin } from '../../src/runtime/kafka/topic-admin.ts'
import { createLog } from '../../src/runtime/log.ts'
import { INPUT_TOPIC, POINTS_TOPIC, RETENTION_MS } from '../../src/schemas/topics.ts'
import { createInstallation } from '../helpers/installation.ts'
import { probe, startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { stackEnv } from '../helpers/stack.ts'
import { until } from '../helpers/until.ts'

/** The discard port: nobody listens there. */
const NOBODY = '127.0.0.1:9'

test.each([
  ['Kafka', { KAFKA_BROKERS: NOBODY }],
  ['Postgres', { DATABASE_URL: `postgres://nobody:nothing@${NOBODY}/nowhere` }],
  ['the registry', { SCHEMA_REGISTRY_URL: `http://${NOBODY}` }],
])('%s away at start: not ready with a reason, alive, and no end of the process', async (_, env) => {
  const installation = await createInstallation({ partitions: 1 })
  const fatal: Error[] = []
  const processor = await startTestProcessor(installation, env, { onFatal: (error) => fatal.push(error) })
  try {
    const reason = await until(
      'it says what is missing',
      async () => {
        const { status, text } = await probe(processor, '/readyz')
        return status === 503 && text !== 'starting\n' && text
      },
      40_000,
    )
    expect(reason).toMatch(/ECONNREFUSED|RegistryUnavailable|Kafka/)
    expect((await probe(processor, '/healthz')).status).toBe(200)
    expect(fatal).toEqual([])
  } finally {
    await processor.stop()
    await installation.drop()
  }
})

test('tables that are missing are waited for, and the readiness probe says how to make them', async () => {
  const installation = await createInstallation({ partitions: 1 })
  const { pool } = installation.database
  await pool.query('alter table topology rename to topology_later')
  const processor = await startTestProcessor(installation)
  try {
    await until('it says what is missing', async () =>
      (await probe(processor, '/readyz')).text.includes('paidonce migrate'),
    )
    await pool.query('alter table topology_later rename to topology')
    await untilSettled([processor], 1)
    expect((await probe(processor, '/readyz')).status).toBe(200)
  } finally {
    await processor.stop()
    await installation.drop()
  }
})

test.each([['one in-sync replica that nobody accepted', { ALLOW_SINGLE_REPLICA: '0' }, 'ALLOW_SINGLE_REPLICA=1']])(
  '%s ends the process with the remedy',
  async (_, env, remedy) => {
    const installation = await createInstallation({ partitions: 1 })
    const fatal: Error[] = []
    const processor = await startTestProcessor(installation, env, { onFatal: (error) => fatal.push(error) })
    try {
      await until('it gives up', () => fatal.length > 0)
      expect(fatal[0]?.name).toBe('WrongTopology')
      expect(fatal[0]?.message).toContain(remedy)
    } finally {
      await processor.stop()
      await installation.drop()
    }
  },
)

test('an output topic with another number of partitions, or a changed input, ends the process', async () => {
  const installation = await createInstallation({ partitions: 1 })
  const brokers = stackEnv().KAFKA_BROKERS.split(',')
  const admin = createTopicAdmin({ brokers, ssl: false }, createLog('test', 'silent'))
  const fatalOf = async () => {
    const fatal: Error[] = []
    const processor = await startTestProcessor(installation, {}, { onFatal: (error) => fatal.push(error) })
    await until('it gives up', () => fatal.length > 0)
    await processor.stop()
    return fatal[0]?.message
  }
  try {
    await installation.database.pool.query('insert into topology (topic, partitions) values ($1, 2)', [
      installation.topics.name(INPUT_TOPIC),
    ])
    expect(await fatalOf()).toContain('1 partitions, 2 are expected')
    await installation.database.pool.query('delete from topology')
    const topic = installation.topics.name(POINTS_TOPIC)
    await admin.deleteTopics([topic])
    await until('the topic is made anew', async () => {
      const spec = { topic, partitions: 4, replicationFactor: 1, minInsyncReplicas: 1 }
      await admin.ensureTopics([{ ...spec, retentionMs: RETENTION_MS[POINTS_TOPIC] }])
      return (await admin.describeTopics([topic])).get(topic)?.partitions === 4
    })
    expect(await fatalOf()).toContain('4 partitions, 1 are expected')
  } finally {
    await admin.close()
    await installation.drop()
  }
})
