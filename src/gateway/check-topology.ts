import { BadConfiguration } from '../runtime/config.ts'
import type { TopicAdmin } from '../runtime/kafka/topic-admin.ts'
import { topicProblems } from '../schemas/check-topics.ts'
import { INPUT_TOPIC, TOPICS } from '../schemas/topics.ts'

export interface TopologyOptions {
  readonly topicPrefix: string
  readonly allowSingleReplica: boolean
  /** What the input had when this process started; a callback's partition follows from it. */
  readonly partitions?: number
}

/**
 * Holds the topics in Kafka against what a success answer promises.
 * @returns the input's partition count
 * @throws BadConfiguration what only a person can put right, with the remedies; Error while a topic is missing, as
 *   somebody may be creating it, or while Kafka is away
 */
export async function checkTopology(
  admin: Pick<TopicAdmin, 'describeTopics'>,
  options: TopologyOptions,
): Promise<number> {
  const found = await admin.describeTopics(TOPICS.map((topic) => options.topicPrefix + topic))
  const problems = topicProblems(found, options)
  const say = (missing: boolean) =>
    problems
      .filter(({ topic }) => found.has(topic) !== missing)
      .map(({ topic, problem, remedy }) => `✖ ${topic} ${problem}: ${remedy}`)
  const [missing, wrong] = [say(true), say(false)]
  if (wrong.length > 0) throw new BadConfiguration(`The topics do not fit:\n${wrong.join('\n')}`)
  const input = found.get(options.topicPrefix + INPUT_TOPIC)
  if (missing.length > 0 || input === undefined) throw new Error(missing.join('; '))
  return input.partitions
}
