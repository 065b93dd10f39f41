import { z } from 'zod'
import { DEAD_LETTER_STATUSES } from '../store/dead-letter.ts'
import type { deadLetterView } from '../store/dead-letter-view.ts'
import { laneNumber, nextCursor, rowId, timeText, wholeNumber } from './schema-parts.ts'

const time = timeText.nullable()
const text = z.string().nullable()

export const DEAD_LETTER = z
  .strictObject({
    id: rowId,
    status: z.enum(DEAD_LETTER_STATUSES),
    // A newer version may have written one that this version does not know.
    reason: z.string(),
    detail: z.string(),
    merchant: text,
    out_trade_no: text,
    provider: text,
    message_type: text,
    topic: z.string(),
    lane: laneNumber,
    offset: wholeNumber,
    value_bytes: wholeNumber.nullable(),
    replay_count: wholeNumber,
    record_time: time,
    created_at: time,
    closed_at: time,
  })
  .meta({ id: 'DeadLetter' }) satisfies z.ZodType<ReturnType<typeof deadLetterView>>

export const DEAD_LETTERS = z.strictObject({ dead_letters: z.array(DEAD_LETTER), next: nextCursor })

const REPLAY = z.strictObject({
  id: rowId,
  run: rowId,
  count: z.int().min(1),
  sent_at: time,
  result: text,
  detail: text,
})
export const WHOLE_DEAD_LETTER = DEAD_LETTER.extend({
  key_base64: text,
  value_base64: text,
  headers: z.record(z.string(), z.string()),
  replays: z.array(REPLAY),
}).meta({ id: 'WholeDeadLetter' })
