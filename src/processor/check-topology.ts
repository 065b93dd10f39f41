import type { TopicAdmin } from '../runtime/kafka/topic-admin.ts'
import type { Queryable } from '../runtime/postgres.ts'
import { topicProblems } from '../schemas/check-topics.ts'
import { INPUT_TOPIC, TOPICS } from '../schemas/topics.ts'
import { recordTopology } from '../store/topology.ts'

/** Topics are not as the lanes need them: the process ends, and the message says what to do. */
export class WrongTopology extends Error {
  override readonly name = 'WrongTopology'
}

/** Topics are not there yet, and somebody may be creating them just now: try again. */
export class MissingTopics extends Error {
  override readonly name = 'MissingTopics'
}

export interface CheckOptions {
  readonly topicPrefix: string
  readonly allowSingleReplica: boolean
}

/**
 * Checks the topics in Kafka, and the partition count against the one that Postgres remembers, as every order's lane
 * follows from it.
 * @returns the input topic's partition count
 * @throws WrongTopology, MissingTopics, or whatever Kafka and Postgres throw while they are away
 */
export async function checkTopology(admin: TopicAdmin, db: Queryable, options: CheckOptions): Promise<number> {
  const found = await admin.describeTopics(TOPICS.map((topic) => options.topicPrefix + topic))
  const missing = TOPICS.map((topic) => options.topicPrefix + topic).filter((topic) => !found.has(topic))
  const name = options.topicPrefix + INPUT_TOPIC
  const input = found.get(name)
  if (input === undefined || missing.length > 0)
    throw new MissingTopics(`${missing.join(', ')}: not there; run paidonce topics create`)
  assertSound(topicProblems(found, options))
  const partitions = await recordTopology(db, name, input.partitions)
  assertSound(topicProblems(found, { ...options, partitions }))
  return partitions
}

function assertSound(problems: ReturnType<typeof topicProblems>): void {
  if (problems.length === 0) return
  const lines = problems.map(({ topic, problem, remedy }) => `${topic} ${problem}: ${remedy}`)
  throw new WrongTopology(lines.join('\n'))
}
