import type { Internals } from './internals.ts'

type Message = object
interface Grouping {
  readonly topic: string
  readonly partitionMetadata: readonly unknown[]
  readonly messages: readonly Message[]
  readonly partitioner: (choice: { topic: string; partitionMetadata: readonly unknown[]; message: Message }) => number
}

/** Stock kafkajs copies the group once per message, so a produce call costs the square of its length. */
export function groupPerPartition({ topic, partitionMetadata, messages, partitioner }: Grouping) {
  const groups: Record<number, Message[]> = {}
  if (partitionMetadata.length === 0) return groups
  for (const message of messages) (groups[partitioner({ topic, partitionMetadata, message })] ??= []).push(message)
  return groups
}

export function guardMessageGrouping(internals: Internals): void {
  internals.replace('src/producer/groupMessagesPerPartition.js', groupPerPartition)
}
