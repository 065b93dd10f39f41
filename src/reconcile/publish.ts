import { partitionFor } from '../runtime/kafka/partition.ts'
import type { OutgoingMessage, PlainProducer } from '../runtime/kafka/port.ts'
import { CALL_BYTES_MAX, messageBytes, splitMessages } from '../runtime/kafka/split-messages.ts'
import { keyOf, toCallback, type Origin } from '../providers/to-callback.ts'
import type { VerifiedMessage } from '../providers/provider.ts'
import type { Codec } from '../schemas/codec.ts'
import { continueTrace } from '../schemas/headers.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'

export interface PublishDeps {
  readonly codec: Codec
  readonly producer: PlainProducer
  /** The input topic's full name. */
  readonly topic: string
}

/** What a provider told when it was asked, or what a line of its bill says. */
export interface Learnt extends Origin {
  readonly messages: readonly VerifiedMessage[]
}

/** Nothing is sent of what is too large; a bill gives each line its own bytes, a query's answer is bounded by its client. */
export type Published =
  { readonly kind: 'published'; readonly records: number } | { readonly kind: 'too_large'; readonly bytes: number }

/**
 * Publishes what was learnt to the input topic, in a callback's form and by its key, so that the callback that tells the
 * same, before or later, is a duplicate. A message without facts changes nothing and is left out. Resolves when every
 * in-sync replica has all of it; called again, it is there twice, and the dedupe takes the second.
 * @param deadlineMs of each call to Kafka
 * @throws what Kafka throws: nobody knows what of it is there, call it again
 */
export async function publishLearnt(
  { codec, producer, topic }: PublishDeps,
  learnt: readonly Learnt[],
  deadlineMs: number,
): Promise<Published> {
  const count = producer.partitionCount(topic)
  const byPartition = new Map<number, OutgoingMessage[]>()
  let records = 0
  for (const { messages, ...origin } of learnt) {
    for (const message of messages) {
      if (message.facts.length === 0) continue
      const key = keyOf(message)
      const value = codec.encode(INPUT_TOPIC, toCallback(message, origin))
      const outgoing = { key, value, headers: { traceparent: continueTrace(undefined) } }
      const bytes = messageBytes(outgoing)
      if (bytes > CALL_BYTES_MAX) return { kind: 'too_large', bytes }
      const partition = partitionFor(key, count)
      const lane = byPartition.get(partition) ?? []
      byPartition.set(partition, lane)
      lane.push(outgoing)
      records += 1
    }
  }
  for (const [partition, outgoing] of byPartition)
    for (const messages of splitMessages(outgoing)) await producer.send({ topic, partition, messages }, deadlineMs)
  return { kind: 'published', records }
}
