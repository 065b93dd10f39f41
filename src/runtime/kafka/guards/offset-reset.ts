import type { Internals } from './internals.ts'

interface OffsetManager {
  readonly memberId: string
}
type OutOfRange = (topic: string, partition: number) => void

/** Who is told, by group member: several consumers of one group may live in one process. */
const listeners = new Map<string, OutOfRange>()

export function onOffsetOutOfRange(memberId: string, listener: OutOfRange): void {
  listeners.set(memberId, listener)
}
export function forgetOffsetOutOfRange(memberId: string): void {
  listeners.delete(memberId)
}

/**
 * Stock kafkajs answers OFFSET_OUT_OF_RANGE by committing "earliest" or "latest" for the group, even with
 * `autoCommit: false`, and reads on from there (kafkajs #1119): records would be skipped in silence. Here nothing is
 * reset: the member's listener is told and must pause the partition; without one the consumer crashes.
 */
export function guardOffsetReset(internals: Internals): void {
  const { KafkaJSNonRetriableError } = internals.load('src/errors.js') as {
    KafkaJSNonRetriableError: new (message: string) => Error
  }
  const { prototype } = internals.load('src/consumer/offsetManager/index.js') as { prototype: Record<string, unknown> }
  prototype['setDefaultOffset'] = function (
    this: OffsetManager,
    { topic, partition }: { topic: string; partition: number },
  ): Promise<void> {
    const listener = listeners.get(this.memberId)
    if (listener === undefined)
      return Promise.reject(
        new KafkaJSNonRetriableError(`Offset out of range for ${topic}-${String(partition)}: refusing to reset it`),
      )
    listener(topic, partition)
    return Promise.resolve()
  }
}
