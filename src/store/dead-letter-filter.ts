import type { DeadLetterReason, DeadLetterStatus } from './dead-letter.ts'

/** Which dead letters are meant; what is left out does not narrow them. */
export interface DeadLetterFilter {
  /** The input topic's full name. */
  readonly topic: string
  readonly ids?: readonly number[] | undefined
  readonly reasons?: readonly DeadLetterReason[] | undefined
  readonly statuses?: readonly DeadLetterStatus[] | undefined
  readonly lane?: number | undefined
  /** When they became dead letters: from, inclusive, until, exclusive. */
  readonly sinceMs?: number | undefined
  readonly untilMs?: number | undefined
  /** Only of those that could be decoded. */
  readonly merchant?: string | undefined
}

/** SQL for `dead_letters d`; `filterValues` gives $1 to $8. */
export const FILTER = `d.topic = $1 and ($2::int8[] is null or d.id = any($2)) and ($3::text[] is null or d.reason = any($3))
  and ($4::text[] is null or d.status = any($4)) and ($5::int2 is null or d.lane = $5)
  and ($6::float8 is null or d.created_at >= to_timestamp($6 / 1000))
  and ($7::float8 is null or d.created_at < to_timestamp($7 / 1000)) and ($8::text is null or d.merchant = $8)`

export const filterValues = (filter: DeadLetterFilter): unknown[] => [
  filter.topic,
  filter.ids ?? null,
  filter.reasons ?? null,
  filter.statuses ?? null,
  filter.lane ?? null,
  filter.sinceMs ?? null,
  filter.untilMs ?? null,
  filter.merchant ?? null,
]

/** What an operator's action keeps of it: only what was given. */
export function filterView(filter: DeadLetterFilter): Record<string, unknown> {
  const { sinceMs, untilMs, ...rest } = filter
  const time = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString())
  return JSON.parse(JSON.stringify({ ...rest, since: time(sinceMs), until: time(untilMs) })) as Record<string, unknown>
}
