import type { Command } from 'commander'
import { KAFKA, POSTGRES, readConfig } from '../runtime/config.ts'
import type { TopicDescription } from '../runtime/kafka/topic-admin.ts'
import { sortProblems } from '../schemas/check-topics.ts'
import { INPUT_TOPIC, RETENTION_MS, TOPICS } from '../schemas/topics.ts'
import { cliLog, isSet, readKafka, withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { integer } from './options.ts'
import { table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options {
  readonly partitions: number
  readonly replication?: number
}

export const addTopicsCreate = (noun: Command, run: Run) =>
  noun
    .command('create')
    .description('create the topics that are missing, and record the partition count in DATABASE_URL if it is set')
    .option('--partitions <count>', 'lanes of this installation, fixed for ever', integer(1, 10_000), 12)
    .option(
      '--replication <count>',
      'copies of each partition; default 3, or 1 with ALLOW_SINGLE_REPLICA=1',
      integer(1, 9),
    )
    .option('--dry-run', 'say what would be created, create nothing')
    .action((options: Options, command: Command) => run((context) => createTopics(context, options), command))

async function createTopics({ env, dryRun }: CliContext, options: Options): Promise<Output> {
  readConfig({ ...KAFKA, ...(isSet(env, 'DATABASE_URL') ? POSTGRES : {}) }, env)
  const { settings, topicPrefix, allowSingleReplica } = await readKafka(env)
  const replicationFactor = options.replication ?? (allowSingleReplica ? 1 : 3)
  if (replicationFactor < 2 && !allowSingleReplica)
    throw new CliFailure(
      EXIT.usage,
      '--replication 1 would lose acknowledged callbacks with one disk.',
      'Use --replication 3, or set ALLOW_SINGLE_REPLICA=1 on a machine of your own.',
    )
  const specs = TOPICS.map((topic) => ({
    topic: topicPrefix + topic,
    partitions: options.partitions,
    replicationFactor,
    minInsyncReplicas: replicationFactor < 2 ? 1 : 2,
    retentionMs: RETENTION_MS[topic],
  }))
  const { createTopicAdmin } = await import('../runtime/kafka/topic-admin.ts')
  const admin = createTopicAdmin(settings, cliLog(env))
  try {
    const names = specs.map(({ topic }) => topic)
    const before = await admin.describeTopics(names)
    if (!dryRun) await admin.ensureTopics(specs)
    const found = dryRun ? before : await admin.describeTopics(names)
    const { wrong, missing } = sortProblems(found, { topicPrefix, allowSingleReplica, partitions: options.partitions })
    const present = names.flatMap((name) => found.get(name) ?? [])
    const problems = [...wrong, ...tooFewReplicas(present, replicationFactor), ...(dryRun ? [] : missing)]
    if (problems.length === 0 && !dryRun) problems.push(...(await record(env, topicPrefix, options.partitions)))
    const done = dryRun ? 'would be created' : 'created'
    const rows = names.map((topic) => [
      topic,
      before.has(topic) ? 'exists' : done,
      found.get(topic)?.partitions ?? options.partitions,
      problems.filter((problem) => problem.topic === topic).flatMap(({ problem, remedy }) => [problem, remedy]),
    ])
    return {
      json: { topics: rows.map(([topic, state, partitions]) => ({ topic, state, partitions })), problems },
      text: table(['topic', 'state', 'partitions', 'problem'], rows),
      findings: problems.length > 0,
    }
  } finally {
    await admin.close()
  }
}

/** The processes ask for min.insync.replicas only; whoever names a number of copies is told that they are not there. */
const tooFewReplicas = (found: readonly TopicDescription[], wanted: number) =>
  found
    .filter((topic) => topic.replicationFactor < wanted)
    .map(({ topic, replicationFactor }) => ({
      topic,
      problem: `has ${replicationFactor} replicas of a partition, ${wanted} are wanted`,
      remedy: 'nothing was changed: add replicas with kafka-reassign-partitions.sh, then set min.insync.replicas=2',
    }))

/** Without DATABASE_URL nothing is recorded: a gateway's machine may have no access to it. */
async function record(env: NodeJS.ProcessEnv, topicPrefix: string, partitions: number) {
  if (!isSet(env, 'DATABASE_URL')) return []
  const { recordTopology } = await import('../store/topology.ts')
  const topic = topicPrefix + INPUT_TOPIC
  const { partitions: recorded } = await withDatabase(env, (pool) => recordTopology(pool, topic, partitions))
  if (recorded === partitions) return []
  const problem = `the database was made for ${recorded} partitions, the topics have ${partitions}`
  return [{ topic, problem, remedy: `use topics with ${recorded} partitions, or a new database` }]
}
