import type { InputConsumer } from '../runtime/kafka/port.ts'

/**
 * Where the consumer reads a partition on, as far as we know, so that it is moved only when it must be: a lane whose
 * group was set to "latest" gets no batch that would show the gap.
 */
export interface ConsumerPlace {
  readonly resolved: (offset: number) => void
  /**
   * Whatever is believed, the next `moveTo` seeks. After a join too: the consumer reads on where the group stood then,
   * and what the group says at the fence is no proof of that, as it may have been set in between.
   */
  readonly doubt: () => void
  readonly moveTo: (next: number) => void
}

export function createConsumerPlace(lane: number, consumer: Pick<InputConsumer, 'seek' | 'resume'>): ConsumerPlace {
  let at = 0
  // Not ended by `resolved`: a batch that was in work before knows nothing of it.
  let isDoubtful = true
  return {
    resolved: (offset) => (at = offset),
    doubt: () => (isDoubtful = true),
    moveTo: (next) => {
      if (isDoubtful || at !== next) consumer.seek(lane, next)
      at = next
      isDoubtful = false
      consumer.resume(lane)
    },
  }
}
