import type { TopicDescription } from '../runtime/kafka/topic-admin.ts'
import { INPUT_TOPIC, OUTPUT_TOPICS, RETENTION_MS, TOPICS } from '../schemas/topics.ts'

export interface TopologyReading {
  readonly prefix: string
  /** By full name; a topic that does not exist is absent. */
  readonly topics: ReadonlyMap<string, TopicDescription>
  readonly allowSingleReplica: boolean
}

export type Topology =
  | { readonly kind: 'sound'; readonly partitions: number; readonly warnings: readonly string[] }
  /** Somebody may be creating them just now. */
  | { readonly kind: 'missing'; readonly topics: readonly string[] }
  /** Each problem ends with its remedy; nothing gets better by waiting. */
  | { readonly kind: 'wrong'; readonly problems: readonly string[] }

/**
 * Whether the topics are as the lanes need them: an output partition has one writer, so counts must be equal; a
 * compacted topic would drop what was not read yet; a success answer means every in-sync replica, so one is too few.
 */
export function judgeTopology({ prefix, topics, allowSingleReplica }: TopologyReading): Topology {
  const missing = TOPICS.map((topic) => prefix + topic).filter((name) => !topics.has(name))
  const input = topics.get(prefix + INPUT_TOPIC)
  if (missing.length > 0 || input === undefined) return { kind: 'missing', topics: missing }

  const problems: string[] = []
  const warnings: string[] = []
  for (const topic of TOPICS) {
    const found = topics.get(prefix + topic)
    if (found === undefined) continue
    const name = found.topic
    if (found.cleanupPolicy !== 'delete')
      problems.push(
        `${name} has cleanup.policy=${found.cleanupPolicy}: kafka-configs.sh --alter --add-config cleanup.policy=delete`,
      )
    if (found.minInsyncReplicas < 2 && !allowSingleReplica)
      problems.push(
        `${name} has min.insync.replicas=${found.minInsyncReplicas}, so one lost disk loses callbacks that were answered with success: set it to 2 with 3 replicas, or accept it with ALLOW_SINGLE_REPLICA=1`,
      )
    if (found.retentionMs >= 0 && found.retentionMs < RETENTION_MS[topic])
      warnings.push(`${name} keeps records ${found.retentionMs} ms: shorter than the ${RETENTION_MS[topic]} advised`)
  }
  for (const topic of OUTPUT_TOPICS) {
    const found = topics.get(prefix + topic)
    if (found !== undefined && found.partitions !== input.partitions)
      problems.push(
        `${found.topic} has ${found.partitions} partitions, ${input.topic} has ${input.partitions}: drain and switch to topics of equal counts, as ARCHITECTURE.md says`,
      )
  }
  return problems.length > 0 ? { kind: 'wrong', problems } : { kind: 'sound', partitions: input.partitions, warnings }
}
