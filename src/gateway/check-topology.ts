import { BadConfiguration } from '../runtime/config.ts'
import type { TopicAdmin } from '../runtime/kafka/topic-admin.ts'
import { sayProblem, sortProblems, topicNames, type TopicOptions } from '../schemas/check-topics.ts'

/**
 * Holds the topics in Kafka against what a success answer promises.
 * @param options.partitions what the input had when this process started: a callback's partition follows from it
 * @returns the input's partition count
 * @throws BadConfiguration what only a person can put right, with the remedies; Error while a topic is missing, as
 *   somebody may be creating it, or while Kafka is away
 */
export async function checkTopology(admin: Pick<TopicAdmin, 'describeTopics'>, options: TopicOptions): Promise<number> {
  const { missing, wrong, partitions } = sortProblems(
    await admin.describeTopics(topicNames(options.topicPrefix)),
    options,
  )
  if (wrong.length > 0)
    throw new BadConfiguration(`The topics do not fit:\n${wrong.map((one) => `✖ ${sayProblem(one)}`).join('\n')}`)
  if (missing.length > 0 || partitions === undefined) throw new Error(missing.map(sayProblem).join('; '))
  return partitions
}
