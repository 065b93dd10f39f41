import type { TopicAdmin } from '../runtime/kafka/topic-admin.ts'
import type { Queryable } from '../runtime/postgres.ts'
import { sayProblem, sortProblems, topicNames, type TopicProblem } from '../schemas/check-topics.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import { otherAppId, readTopology, recordTopology } from '../store/topology.ts'

/** Topics are not as the lanes need them: the process ends, and the message says what to do. */
export class WrongTopology extends Error {
  override readonly name = 'WrongTopology'
}

/** Topics are not there yet, and somebody may be creating them just now: try again. */
export class MissingTopics extends Error {
  override readonly name = 'MissingTopics'
}

export interface CheckOptions {
  readonly appId: string
  readonly topicPrefix: string
  readonly allowSingleReplica: boolean
}

/**
 * Checks the topics in Kafka, and the partition count against the one that Postgres remembers, as every order's lane
 * follows from it.
 * @returns the input topic's partition count
 * @throws WrongTopology, MissingTopics, or whatever Kafka and Postgres throw while they are away
 */
export async function checkTopology(
  admin: Pick<TopicAdmin, 'describeTopics'>,
  db: Queryable,
  options: CheckOptions,
): Promise<number> {
  const found = await admin.describeTopics(topicNames(options.topicPrefix))
  // Where counts differ, what is recorded says which topic is wrong; else the input topic would be taken for right.
  const isUnequal = new Set([...found.values()].map(({ partitions }) => partitions)).size > 1
  const input = options.topicPrefix + INPUT_TOPIC
  const recorded = isUnequal ? await readTopology(db, input).catch(() => undefined) : undefined
  const known = recorded === undefined ? options : { ...options, partitions: recorded }
  const { missing, wrong, partitions: ofInput } = sortProblems(found, known)
  // First, as waiting for what is missing does not mend it.
  assertNone(wrong)
  if (missing.length > 0 || ofInput === undefined) throw new MissingTopics(missing.map(sayProblem).join('\n'))
  const topology = await recordTopology(db, input, ofInput, options.appId)
  const { partitions } = topology
  assertNone(sortProblems(found, { ...options, partitions }).wrong)
  // Each lane would halt for want of a ledger, and those that it belongs to could not go on.
  const other = otherAppId(input, options.appId, topology)
  if (other !== undefined) throw new WrongTopology(other)
  return partitions
}

function assertNone(wrong: readonly TopicProblem[]): void {
  if (wrong.length > 0) throw new WrongTopology(wrong.map(sayProblem).join('\n'))
}
