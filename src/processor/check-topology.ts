import type { TopicAdmin } from '../runtime/kafka/topic-admin.ts'
import type { Log } from '../runtime/log.ts'
import type { Queryable } from '../runtime/postgres.ts'
import { INPUT_TOPIC, TOPICS } from '../schemas/topics.ts'
import { recordTopology } from '../store/topology.ts'
import { judgeTopology } from './judge-topology.ts'

/** Topics are not as the lanes need them: the process ends, and the message says what to do. */
export class WrongTopology extends Error {
  override readonly name = 'WrongTopology'
}

/** Topics are not there yet: try again. */
export class MissingTopics extends Error {
  override readonly name = 'MissingTopics'
}

export interface CheckOptions {
  readonly prefix: string
  readonly allowSingleReplica: boolean
}

/**
 * Checks the topics in Kafka, and the input's partition count against the one that Postgres remembers.
 * @returns the input topic's partition count
 * @throws WrongTopology, MissingTopics, or whatever Kafka and Postgres throw while they are away
 */
export async function checkTopology(
  admin: TopicAdmin,
  db: Queryable,
  options: CheckOptions,
  log: Log,
): Promise<number> {
  const { prefix } = options
  const topics = await admin.describeTopics(TOPICS.map((topic) => prefix + topic))
  const topology = judgeTopology({ ...options, topics })
  if (topology.kind === 'missing')
    throw new MissingTopics(`no topic ${topology.topics.join(', ')}: run paidonce topics create`)
  if (topology.kind === 'wrong') throw new WrongTopology(topology.problems.join('\n'))
  for (const warning of topology.warnings) log.warn(warning)
  const name = prefix + INPUT_TOPIC
  const remembered = await recordTopology(db, name, topology.partitions)
  if (remembered !== topology.partitions)
    throw new WrongTopology(
      `${name} has ${topology.partitions} partitions, but its orders were spread over ${remembered}: an order would have two lanes. Drain and switch to a new topic, as ARCHITECTURE.md says`,
    )
  return topology.partitions
}
