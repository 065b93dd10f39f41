import type pg from 'pg'
import type { OffsetReader } from '../runtime/kafka/port.ts'
import { isOtherTopic } from '../schemas/topic-id.ts'
import { readPosition, type Place } from './positions.ts'

export interface Start {
  readonly next: number
  /** Below it the group has taken everything in before: what is not in the inbox any more may have happened. */
  readonly knownTo: number
  /** Why nothing may be read until a person has looked. */
  readonly stop: string | undefined
}

/**
 * Where a lane is read on, by Postgres' word. The group's offset in Kafka only shows that Postgres knew more once: it
 * was set back (a restored backup), and what was asked of third parties since then was not.
 */
export async function findStart(pool: pg.Pool, offsets: OffsetReader, place: Place): Promise<Start> {
  const { consumer, topic, lane } = place
  const [{ start, end }, ids, committed] = await Promise.all([
    offsets.logRange(topic, lane),
    offsets.topicIds([topic]),
    offsets.committed(consumer, topic, lane),
  ])
  const topicId = ids.get(topic)
  const position = await readPosition(pool, place, { start, topicId })
  const { next } = position
  const knownTo = committed?.offset ?? 0
  const stop = (reason: string): Start => ({ next, knownTo, stop: reason })
  if (isOtherTopic(position.topicId, topicId))
    return stop(`the topic was made anew: the position ${next} is of one with another id, ${position.topicId ?? ''}`)
  if (next < start) return stop(`the records from ${next} to ${start} were deleted before they were read`)
  if (next > end) return stop(`the position ${next} is after the end ${end} of the log: was the topic made anew?`)
  return { next, knownTo, stop: undefined }
}
