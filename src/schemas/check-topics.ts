import { INPUT_TOPIC, RETENTION_MS, TOPICS } from './topics.ts'

/** What the broker says of a topic. */
export interface FoundTopic {
  readonly partitions: number
  readonly minInsyncReplicas: number
  /** -1 keeps records for ever. */
  readonly retentionMs: number
  readonly cleanupPolicy: string
}

export interface TopicProblem {
  /** With the installation's prefix. */
  readonly topic: string
  readonly problem: string
  readonly remedy: string
}

/**
 * Everything about the topics that would break the promise, at once; an empty list is what a process may start with.
 * @param found by full name; a topic that does not exist is absent
 * @param options.partitions what the `topology` row says; without it every topic is compared with the input topic
 */
export function topicProblems(
  found: ReadonlyMap<string, FoundTopic>,
  options: { readonly topicPrefix: string; readonly allowSingleReplica: boolean; readonly partitions?: number },
): TopicProblem[] {
  const { topicPrefix, allowSingleReplica } = options
  const partitions = options.partitions ?? found.get(topicPrefix + INPUT_TOPIC)?.partitions
  return TOPICS.flatMap((name) => {
    const topic = topicPrefix + name
    const description = found.get(topic)
    const problems: TopicProblem[] = []
    const problem = (problem: string, remedy: string) => problems.push({ topic, problem, remedy })
    if (description === undefined) {
      problem('does not exist', 'paidonce topics create')
      return problems
    }
    // A lane's events go to its own index: an order's lane must be the same number everywhere, for ever.
    if (partitions !== undefined && description.partitions !== partitions)
      problem(
        `has ${description.partitions} partitions, ${partitions} are expected`,
        'never add partitions in place: drain, make new topics under another TOPIC_PREFIX, switch',
      )
    if (description.cleanupPolicy !== 'delete')
      problem(
        `has cleanup.policy=${description.cleanupPolicy}, which can drop what is not applied yet`,
        'set cleanup.policy=delete',
      )
    if (description.retentionMs !== -1 && description.retentionMs < RETENTION_MS[name])
      problem(`has retention.ms=${description.retentionMs}`, `set retention.ms to at least ${RETENTION_MS[name]}`)
    if (!(description.minInsyncReplicas >= 2) && !allowSingleReplica)
      problem(
        `has min.insync.replicas=${description.minInsyncReplicas}: one lost disk would lose what was acknowledged`,
        'set min.insync.replicas=2 and a replication factor of 3, or ALLOW_SINGLE_REPLICA=1 on a machine of your own',
      )
    return problems
  })
}
