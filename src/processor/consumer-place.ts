import type { InputConsumer } from '../runtime/kafka/port.ts'

/**
 * Where the consumer reads a partition on, as far as we know, so that it is moved only when it must be: a lane whose
 * group was set to "latest" gets no batch that would show the gap.
 */
export interface ConsumerPlace {
  /** After a join it reads on where the group stood. */
  readonly joined: () => void
  readonly resolved: (offset: number) => void
  /** Whatever is believed, the next `moveTo` seeks. */
  readonly doubt: () => void
  /** @param groupOffset where the group stood at the fence, undefined: no offset, so it began at the log's start */
  readonly moveTo: (next: number, groupOffset: number | undefined) => void
}

export function createConsumerPlace(lane: number, consumer: Pick<InputConsumer, 'seek' | 'resume'>): ConsumerPlace {
  let at: number | undefined
  let isDoubtful = false
  return {
    joined: () => (at = undefined),
    resolved: (offset) => (at = offset),
    doubt: () => (isDoubtful = true),
    moveTo: (next, groupOffset) => {
      const believed = at ?? groupOffset
      if (isDoubtful || (believed !== undefined && believed !== next)) consumer.seek(lane, next)
      at = next
      isDoubtful = false
      consumer.resume(lane)
    },
  }
}
