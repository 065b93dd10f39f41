import type { Queryable } from '../runtime/postgres.ts'
import { FILTER, filterValues, type DeadLetterFilter } from './dead-letter-filter.ts'
import type { DeadLetterStatus } from './dead-letter.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

/** A dead letter as it is kept, without its bytes. */
export interface KeptDeadLetter {
  readonly id: number
  readonly topic: string
  readonly lane: number
  readonly offset: number
  /** A version that is newer than this one may have written another. */
  readonly reason: string
  readonly detail: string
  readonly status: DeadLetterStatus
  /** How often its content has been replayed. */
  readonly replayCount: number
  /** What the record said, where it could be decoded. */
  readonly merchant: string | null
  readonly outTradeNo: string | null
  readonly provider: string | null
  readonly messageType: string | null
  /** Of the value; null: it had none, or one too large to keep. */
  readonly valueBytes: number | null
  readonly recordTimeMs: number
  readonly createdAtMs: number
  readonly closedAtMs: number | null
}

export interface DeadLetterBytes {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, Buffer>>
}

type Row = [
  ...[id: unknown, topic: string, lane: number, offset: unknown, reason: string, detail: string],
  ...[status: DeadLetterStatus, replayCount: number, merchant: string | null, outTradeNo: string | null],
  ...[provider: string | null, messageType: string | null, valueBytes: number | null, recordTimeMs: unknown],
  ...[createdAtMs: unknown, closedAtMs: unknown],
]
const COLUMNS = `d.id, d.topic, d.lane, d.kafka_offset, d.reason, d.detail, d.status, d.replay_count, d.merchant,
  d.out_trade_no, d.provider, d.message_type, octet_length(d.value), ${ms('d.record_time')}, ${ms('d.created_at')},
  ${ms('d.closed_at')}`
const letterOf = (row: Row): KeptDeadLetter => ({
  ...{ id: int(row[0]), topic: row[1], lane: row[2], offset: int(row[3]), reason: row[4], detail: row[5] },
  ...{ status: row[6], replayCount: row[7], merchant: row[8], outTradeNo: row[9], provider: row[10] },
  ...{ messageType: row[11], valueBytes: row[12], recordTimeMs: int(row[13]), createdAtMs: int(row[14]) },
  closedAtMs: intOrNull(row[15]),
})

/**
 * The newest first.
 * @param before the id that the page before ended with
 * @returns `next`: what to give as `before` for the following page; undefined: there is none
 */
export async function listDeadLetters(
  db: Queryable,
  filter: DeadLetterFilter,
  { before, limit }: { readonly before?: number | undefined; readonly limit: number },
): Promise<{ letters: KeptDeadLetter[]; next: number | undefined }> {
  const text = `select ${COLUMNS} from dead_letters d where ${FILTER} and ($9::int8 is null or d.id < $9)
    order by d.id desc limit $10`
  const statement = { name: 'list-dead-letters', text }
  const rows = await rowsOf<Row>(db, statement, [...filterValues(filter), before ?? null, limit + 1])
  const letters = rows.slice(0, limit).map(letterOf)
  return { letters, next: rows.length > limit ? letters.at(-1)?.id : undefined }
}

/** One replay of a dead letter. */
export interface ReplayOfLetter {
  readonly id: number
  readonly runId: number
  readonly count: number
  readonly sentAtMs: number | null
  readonly result: string | null
  readonly detail: string | null
}

/** @returns undefined: there is none with this id, or it is of another topic. */
export async function readDeadLetter(
  db: Queryable,
  topic: string,
  id: number,
): Promise<{ letter: KeptDeadLetter; bytes: DeadLetterBytes; replays: ReplayOfLetter[] } | undefined> {
  const text = `select ${COLUMNS}, d.key, d.value, d.headers from dead_letters d where d.topic = $1 and d.id = $2`
  type WithBytes = [...Row, key: Buffer | null, value: Buffer | null, headers: Record<string, string>]
  const [row] = await rowsOf<WithBytes>(db, { name: 'read-dead-letter', text }, [topic, id])
  if (row === undefined) return undefined
  const [key, value, headers] = row.slice(16) as [Buffer | null, Buffer | null, Record<string, string>]
  const replays = await rowsOf<[unknown, unknown, number, unknown, string | null, string | null]>(
    db,
    {
      name: 'replays-of-dead-letter',
      text: `select id, run_id, count, ${ms('sent_at')}, result, detail from replays where dead_letter_id = $1 order by id`,
    },
    [id],
  )
  return {
    letter: letterOf(row.slice(0, 16) as Row),
    bytes: { key, value, headers: headersOf(headers) },
    replays: replays.map(([replayId, runId, count, sentAtMs, result, detail]) => ({
      ...{ id: int(replayId), runId: int(runId), count, sentAtMs: intOrNull(sentAtMs), result, detail },
    })),
  }
}

/** As they are kept: name → base64. */
export const headersOf = (kept: Readonly<Record<string, string>>): Record<string, Buffer> =>
  Object.fromEntries(Object.entries(kept).map(([name, value]) => [name, Buffer.from(value, 'base64')]))
