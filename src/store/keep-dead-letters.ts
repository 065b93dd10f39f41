import type { Transaction } from '../runtime/postgres.ts'
import { createBinder } from './binder.ts'
import { REPLAYS_MAX, type DeadLetter } from './dead-letter.ts'
import { int, rowsOf } from './statement.ts'
import type { Guard } from './write-batch.ts'

/** Kafka's own limit of a record is 1 MiB by default; what is larger stays in the topic alone. */
const VALUE_BYTES_MAX = 4_194_304
const KEY_BYTES_MAX = 65_536
const HEADERS_MAX = 64
const HEADERS_BYTES_MAX = 65_536
const DETAIL_MAX = 1_000

export interface KeptDeadLetters {
  /** Those that were not there before: only they get a notice. */
  readonly newOffsets: ReadonlySet<number>
  /** Offsets of earlier dead letters that count towards a flood. */
  readonly floodOffsets: readonly number[]
}

const $ = createBinder<{ guard: Guard; letters: readonly DeadLetter[] }>()
const lane = $.int2(({ guard }) => guard.lane)
const topic = $.text(({ guard }) => guard.topic)

// A statement before D, as D must know how many notices it numbers. It locks the lane's row itself: after the orders,
// and before any row that belongs to the lane.
const KEEP = {
  name: 'keep-dead-letters',
  text: `
with l as materialized (
  select dead_letter_offsets from lanes where topic = ${topic} and lane = ${lane}
    and next_seq >= ${$.int8(({ guard }) => guard.ledger)} and applied_offset >= ${$.int8(({ guard }) => guard.next)}
    and brake_version = ${$.int8(({ guard }) => guard.brakeVersion)} and halted_reason is null
  for no key update
), kept as (
  insert into dead_letters (topic, lane, kafka_offset, key, value, headers, reason, detail, record_time, merchant,
    out_trade_no, provider, message_type, replay_id, replay_count, status)
  select ${topic}, ${lane}, d.kafka_offset, d.key, d.value, d.headers::jsonb, d.reason, d.detail, d.record_time, d.merchant,
    d.out_trade_no, d.provider, d.message_type, d.replay_id, d.replay_count,
    case when d.replay_count >= ${REPLAYS_MAX} then 'quarantined' else 'open' end
  from l, ${$.rows(
    'd',
    ({ letters }) => letters,
    (is) => [
      is.int8('kafka_offset', ({ offset }) => offset),
      is.bytea('key', ({ key }) => within(key, KEY_BYTES_MAX)),
      is.bytea('value', ({ value }) => within(value, VALUE_BYTES_MAX)),
      is.text('headers', ({ headers }) => boundedHeaders(headers)),
      is.text('reason', ({ reason }) => reason),
      is.text('detail', explained),
      is.timestamp('record_time', ({ recordTimeMs }) => recordTimeMs),
      is.text('merchant', ({ about }) => about?.merchant ?? null),
      is.text('out_trade_no', ({ about }) => about?.outTradeNo ?? null),
      is.text('provider', ({ about }) => about?.provider ?? null),
      is.text('message_type', ({ about }) => about?.messageType ?? null),
      is.int8('replay_id', ({ replay }) => replay?.id ?? null),
      is.int4('replay_count', ({ replay }) => replay?.count ?? 0),
    ],
  )}
  on conflict do nothing -- by its place, or by the replay that brought it twice
  returning kafka_offset
)
select array_to_string(l.dead_letter_offsets, ','), (select string_agg(kafka_offset::text, ',') from kept) from l`,
}

/**
 * Keeps records that could not be processed, with their raw bytes, each once.
 * @returns undefined: the lane's row refused, as in `writeBatch`.
 */
export async function keepDeadLetters(
  tx: Transaction,
  guard: Guard,
  letters: readonly DeadLetter[],
): Promise<KeptDeadLetters | undefined> {
  type Row = [floods: string, kept: string | null]
  const [row] = await rowsOf<Row>(tx, KEEP, $.values({ guard, letters }))
  if (row === undefined) return undefined
  return { newOffsets: new Set(offsets(row[1])), floodOffsets: offsets(row[0]) }
}

const offsets = (list: string | null) => (list === null || list === '' ? [] : list.split(',').map(int))
const within = (bytes: Buffer | null, max: number) => (bytes !== null && bytes.length > max ? null : bytes)

function explained({ detail, key, value }: DeadLetter): string {
  const tooLarge = [
    ...((key?.length ?? 0) > KEY_BYTES_MAX ? [`key of ${key?.length} bytes not kept`] : []),
    ...((value?.length ?? 0) > VALUE_BYTES_MAX ? [`value of ${value?.length} bytes not kept`] : []),
  ]
  return [storable(detail).slice(0, DETAIL_MAX), ...tooLarge].join('; ')
}

/** Postgres keeps no NUL in a text. */
const storable = (text: string) => text.replaceAll('\0', '\\0').toWellFormed()

/** JSON of name → base64. What is beyond the limits is left out: an attacker's padding, not a provider's signature. */
function boundedHeaders(headers: DeadLetter['headers']): string {
  const kept: Record<string, string> = {}
  let bytes = 0
  for (const [name, value] of Object.entries(headers).slice(0, HEADERS_MAX)) {
    bytes += name.length + value.length
    if (bytes > HEADERS_BYTES_MAX) break
    kept[storable(name)] = value.toString('base64')
  }
  return JSON.stringify(kept)
}
