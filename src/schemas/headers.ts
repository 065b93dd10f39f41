import { randomFillSync } from 'node:crypto'

/** What CloudEvents says of a record; every value becomes a Kafka header `ce_…` (Kafka protocol binding, binary mode). */
export interface EventAttributes {
  /** Stable: the same event has the same id in every delivery. */
  readonly id: string
  readonly type: string
  readonly source: string
  readonly timeMs: number
  /** The order: out_trade_no. */
  readonly subject: string
  readonly traceparent: string
}

/** The Kafka headers of one record. */
export const cloudEventHeaders = (event: EventAttributes): Record<string, string> => ({
  ce_specversion: '1.0',
  ce_id: event.id,
  ce_type: event.type,
  ce_source: event.source,
  ce_time: new Date(event.timeMs).toISOString(),
  ce_subject: event.subject,
  traceparent: event.traceparent,
})

/** A dead letter that was sent into the input topic again. */
export interface Replay {
  /** The row in `replays`. */
  readonly id: number
  /** How often its content has been replayed, this time included. */
  readonly count: number
}

const REPLAY_HEADER = 'paidonce_replay'
const REPLAY_COUNT_HEADER = 'paidonce_replay_count'
export const REPLAY_ORIGIN_HEADER = 'paidonce_replay_origin'

/**
 * @param letterId the dead letter that is replayed
 * @param origin where the record was met first, as `topic/lane/offset`: kept when a replay of a replay is sent
 */
export const replayHeaders = ({ id, count }: Replay, letterId: number, origin: string): Record<string, string> => ({
  [REPLAY_HEADER]: String(id),
  [REPLAY_COUNT_HEADER]: String(count),
  paidonce_replay_of: String(letterId),
  [REPLAY_ORIGIN_HEADER]: origin,
})

/** @returns undefined: the record is no replay. Only the holders of our producers' credentials can write these. */
export function replayOf(headers: Readonly<Record<string, Buffer>>): Replay | undefined {
  const id = wholeNumber(headers[REPLAY_HEADER])
  return id === undefined ? undefined : { id, count: wholeNumber(headers[REPLAY_COUNT_HEADER]) ?? 1 }
}

function wholeNumber(bytes: Buffer | undefined): number | undefined {
  const text = bytes?.toString('latin1')
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined
}

// Version 00 has exactly these fields; a later version may append more (W3C Trace Context, 3.2.3 and 4.3).
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)

/** @returns the trace id and flags of a valid W3C `traceparent`; undefined for anything else. */
export function parseTraceparent(text: string | undefined): { traceId: string; flags: string } | undefined {
  const match = text === undefined || text.length > 256 ? null : TRACEPARENT.exec(text)
  if (match === null) return undefined
  const [, version = '', traceId = '', spanId = '', flags = '', more] = match
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (traceId === NO_TRACE || spanId === NO_SPAN) return undefined
  // Only the sampled flag is defined in the version that we write.
  return { traceId, flags: Number.parseInt(flags, 16) % 2 === 1 ? '01' : '00' }
}

/** The `traceparent` of our own span: in the sender's trace if it sent a valid one, else in a new one, unsampled. */
export function continueTrace(incoming: string | undefined): string {
  const parent = parseTraceparent(incoming)
  return parent === undefined
    ? `00-${randomHex(16)}-${randomHex(8)}-00`
    : `00-${parent.traceId}-${randomHex(8)}-${parent.flags}`
}

const pool = Buffer.alloc(4_096)
let used = pool.length

/** From a pool: asking the system for 8 bytes costs as much as for 4,096. Ids for tracing need not be secret. */
function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += bytes
  return pool.toString('hex', used - bytes, used)
}
