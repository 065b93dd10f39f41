import { eventId } from '../orders/identity.ts'
import { replayOf } from '../schemas/headers.ts'
import { DEAD_LETTER_TOPIC } from '../schemas/topics.ts'
import type { DeadLetter } from '../store/dead-letter.ts'
import type { Writes } from '../store/write-batch.ts'
import type { LaneRecord, Position } from './lane-types.ts'

const KEY_CHARS_MAX = 256
const KIND = 'dead_letter'

/** @returns undefined: the record is none. */
export function deadLetterOf(record: LaneRecord): DeadLetter | undefined {
  const { content, offset, key, value, headers, timestampMs } = record
  if (content.kind !== 'dead_letter') return undefined
  const { reason, detail } = content
  const { callback: about } = content
  return { offset, key, value, headers, reason, detail, recordTimeMs: timestampMs, about, replay: replayOf(headers) }
}

/**
 * The message that says that a record was kept; its id follows from the record's place. The same offset of another log
 * is another place.
 */
export function noticeOf(
  letter: DeadLetter,
  { topic, lane, logId }: Position,
  traceparent: string | null,
  nowMs: number,
): Writes['events'][number] {
  const { offset, reason, value } = letter
  const key = (letter.key?.toString('utf8') ?? '').replaceAll('\0', '').slice(0, KEY_CHARS_MAX).toWellFormed()
  const cause = logId === undefined ? `${topic}/${lane}/${offset}` : `${topic}/${lane}/${logId}/${offset}`
  return {
    topic: DEAD_LETTER_TOPIC,
    eventId: eventId('', '', cause, KIND, DEAD_LETTER_TOPIC),
    kind: KIND,
    orderId: null,
    merchant: null,
    key,
    sequence: null,
    cause,
    amountMinor: null,
    currency: null,
    paymentRef: null,
    occurredAtMs: nowMs,
    receivedAtMs: null,
    attrs: JSON.stringify({ reason, topic, lane, offset, size: value?.length ?? 0 }),
    traceparent,
  }
}
