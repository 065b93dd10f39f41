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

export interface TopicOptions {
  readonly topicPrefix: string
  readonly allowSingleReplica: boolean
  /** What the `topology` row says; without it every topic is compared with the input topic. */
  readonly partitions?: number
}

export interface SortedProblems {
  /** What somebody may be creating just now: worth waiting for, but not while something is wrong. */
  readonly missing: readonly TopicProblem[]
  /** What would break the promise and only a person can put right. */
  readonly wrong: readonly TopicProblem[]
  /** The input's; undefined: it is missing. */
  readonly partitions: number | undefined
}

/** The topics that an installation needs, by full name. */
export const topicNames = (topicPrefix: string): string[] => TOPICS.map((name) => topicPrefix + name)

export const sayProblem = ({ topic, problem, remedy }: TopicProblem) => `${topic} ${problem}: ${remedy}`

/**
 * All problems of the topics at once. A process may start when both lists are empty.
 * @param found by full name; a topic that does not exist is absent
 */
export function sortProblems(found: ReadonlyMap<string, FoundTopic>, options: TopicOptions): SortedProblems {
  const missing = topicNames(options.topicPrefix).filter((topic) => !found.has(topic))
  return {
    missing: missing.map((topic) => ({ topic, problem: 'does not exist', remedy: 'run paidonce topics create' })),
    wrong: wrongOf(found, options),
    partitions: found.get(options.topicPrefix + INPUT_TOPIC)?.partitions,
  }
}

function wrongOf(found: ReadonlyMap<string, FoundTopic>, options: TopicOptions): TopicProblem[] {
  const { topicPrefix, allowSingleReplica } = options
  const partitions = options.partitions ?? found.get(topicPrefix + INPUT_TOPIC)?.partitions
  return TOPICS.flatMap((name) => {
    const topic = topicPrefix + name
    const description = found.get(topic)
    if (description === undefined) return []
    const problems: TopicProblem[] = []
    const problem = (problem: string, remedy: string) => problems.push({ topic, problem, remedy })
    // A lane's events go to its own index: an order's lane must be the same number everywhere, for ever.
    if (partitions !== undefined && description.partitions !== partitions)
      problem(
        `has ${description.partitions} partitions, ${partitions} are expected`,
        'partitions are never added in place. By mistake: docs/operations.md, "Partitions were added by mistake"; to grow: drain, make new topics under another TOPIC_PREFIX, switch',
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
