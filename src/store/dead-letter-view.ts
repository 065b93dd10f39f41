import { isoOf } from './order-view.ts'
import type { KeptDeadLetter } from './read-dead-letters.ts'

/** What the api and the command line show of a dead letter. */
export const deadLetterView = (letter: KeptDeadLetter) => ({
  id: letter.id,
  status: letter.status,
  reason: letter.reason,
  detail: letter.detail,
  merchant: letter.merchant,
  out_trade_no: letter.outTradeNo,
  provider: letter.provider,
  message_type: letter.messageType,
  topic: letter.topic,
  lane: letter.lane,
  offset: letter.offset,
  value_bytes: letter.valueBytes,
  replay_count: letter.replayCount,
  record_time: isoOf(letter.recordTimeMs),
  created_at: isoOf(letter.createdAtMs),
  closed_at: isoOf(letter.closedAtMs),
})
