import type { Queryable } from '../runtime/postgres.ts'
import { int2s, int8s } from './bind.ts'
import { rangeOf, type ImportedRange } from './imported-ranges.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

/** What an event's message must say. */
export interface AuditRow {
  readonly laneSeq: number
  readonly eventId: string
  readonly topic: string
  readonly kind: string
  readonly merchant: string | null
  readonly key: string
  readonly sequence: number | null
  readonly cause: string
  readonly amountMinor: number | null
  readonly currency: string | null
  readonly paymentRef: string | null
  readonly createdAtMs: number
}

const COLUMNS = `lane_seq, event_id, topic, kind, merchant, key, sequence, cause, amount_minor, currency, payment_ref,
  ${ms('created_at')}`
type Row = [
  ...[laneSeq: unknown, eventId: string, topic: string, kind: string, merchant: string | null, key: string],
  ...[sequence: number | null, cause: string, amountMinor: unknown, currency: string | null, paymentRef: string | null],
  createdAtMs: unknown,
]
const rowOf = (row: Row): AuditRow => ({
  laneSeq: int(row[0]),
  ...{ eventId: row[1], topic: row[2], kind: row[3], merchant: row[4], key: row[5], sequence: row[6], cause: row[7] },
  amountMinor: intOrNull(row[8]),
  ...{ currency: row[9], paymentRef: row[10], createdAtMs: int(row[11]) },
})

const BY_NUMBER = {
  name: 'audit-by-number',
  text: `select ${COLUMNS} from events where lane = ($1::int2[])[1] and lane_seq = any($2::int8[])`,
}
/** The events with these numbers. */
export async function eventsByNumber(
  db: Queryable,
  lane: number,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, AuditRow>> {
  if (numbers.length === 0) return new Map()
  const rows = await rowsOf<Row>(db, BY_NUMBER, [int2s([lane]), int8s(numbers)])
  return new Map(rows.map((row) => [int(row[0]), rowOf(row)]))
}

const PAGE_ROWS = 5_000
const PAGE = {
  name: 'audit-page',
  text: `select ${COLUMNS} from events
    where lane = ($1::int2[])[1] and lane_seq >= ($2::int8[])[1] and lane_seq < ($2::int8[])[2]
    order by lane_seq limit ${PAGE_ROWS}`,
}
/** A lane's events from a number on, below another, in order, a page at a time. */
export async function* eventPages(
  db: Queryable,
  lane: number,
  from: number,
  below: number,
): AsyncGenerator<readonly AuditRow[]> {
  for (let at = from; at < below;) {
    const rows = (await rowsOf<Row>(db, PAGE, [int2s([lane]), int8s([at, below])])).map(rowOf)
    if (rows.length > 0) yield rows
    if (rows.length < PAGE_ROWS) return
    at = (rows.at(-1)?.laneSeq ?? at) + 1
  }
}

const NEXT = {
  name: 'audit-next',
  text: `select lane_seq, ${ms('created_at')} from events where lane = ($1::int2[])[1] and lane_seq >= ($2::int8[])[1]
    order by lane_seq limit 1`,
}
export interface NumberedAt {
  readonly laneSeq: number
  readonly createdAtMs: number
}
/** The lane's first event from a number on; undefined: it has none. */
export async function nextEvent(db: Queryable, lane: number, from: number): Promise<NumberedAt | undefined> {
  const [row] = await rowsOf<[unknown, unknown]>(db, NEXT, [int2s([lane]), int8s([from])])
  return row && { laneSeq: int(row[0]), createdAtMs: int(row[1]) }
}

/** The lane's first event from a number on that is in none of these ranges; undefined: it has none. */
export async function nextOrdinary(
  db: Queryable,
  lane: number,
  from: number,
  ranges: readonly ImportedRange[],
): Promise<NumberedAt | undefined> {
  for (let at = from; ;) {
    const next = await nextEvent(db, lane, behind(ranges, at))
    const range = next && rangeOf(ranges, next.laneSeq)
    if (range === undefined) return next
    at = range.below
  }
}

/** The first number from one on that is in none of these ranges. */
export function behind(ranges: readonly ImportedRange[], laneSeq: number): number {
  const range = rangeOf(ranges, laneSeq)
  return range === undefined ? laneSeq : behind(ranges, range.below)
}

/**
 * The number of the lane's first event that was written at a time or after it, as numbers rise with the time but in
 * these ranges, which are passed over; `nextSeq` if there is none. Some twenty probes of the key, as no index has the time.
 */
export async function firstNumberAt(
  db: Queryable,
  lane: number,
  nextSeq: number,
  atMs: number,
  ranges: readonly ImportedRange[],
): Promise<number> {
  let [low, high] = [0, nextSeq]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const next = await nextOrdinary(db, lane, middle, ranges)
    if (next === undefined || next.createdAtMs >= atMs) high = middle
    else low = next.laneSeq + 1
  }
  return (await nextOrdinary(db, lane, low, ranges))?.laneSeq ?? nextSeq
}

const WRITTEN = {
  name: 'audit-written-between',
  text: `select min(lane_seq) filter (where created_at >= $3 and created_at < $4), ${ms('min(created_at)')}
    from events where lane = ($1::int2[])[1] and lane_seq >= ($2::int8[])[1] and lane_seq < ($2::int8[])[2]`,
}
/** Of a range: the first number that was written between two times, and when the oldest row was. */
export async function writtenBetween(
  db: Queryable,
  lane: number,
  { from, below }: ImportedRange,
  window: { readonly sinceMs: number; readonly untilMs: number },
): Promise<{ readonly first: number | undefined; readonly oldestMs: number | undefined }> {
  const times = [new Date(window.sinceMs - 1), new Date(window.untilMs + 1)]
  const [row] = await rowsOf<[unknown, unknown]>(db, WRITTEN, [int2s([lane]), int8s([from, below]), ...times])
  return { first: intOrNull(row?.[0] ?? null) ?? undefined, oldestMs: intOrNull(row?.[1] ?? null) ?? undefined }
}

const FIRST_IMPORTED = {
  name: 'audit-first-imported',
  text: `select min(lane_seq) from imported_events
    where lane = ($1::int2[])[1] and lane_seq >= ($2::int8[])[1] and lane_seq < ($2::int8[])[2]`,
}
/** The range's first number that has not been derived again. */
export async function firstImported(
  db: Queryable,
  lane: number,
  { from, below }: ImportedRange,
): Promise<number | undefined> {
  const [row] = await rowsOf<[unknown]>(db, FIRST_IMPORTED, [int2s([lane]), int8s([from, below])])
  return intOrNull(row?.[0] ?? null) ?? undefined
}

const IMPORTED = {
  name: 'audit-imported',
  text: `select lane_seq from imported_events where lane = ($1::int2[])[1] and lane_seq = any($2::int8[])`,
}
/** Those of these numbers that are out, and that a lane which was set back has not derived again. */
export async function importedAmong(
  db: Queryable,
  lane: number,
  numbers: readonly number[],
): Promise<ReadonlySet<number>> {
  if (numbers.length === 0) return new Set()
  const rows = await rowsOf<[unknown]>(db, IMPORTED, [int2s([lane]), int8s(numbers)])
  return new Set(rows.map(([laneSeq]) => int(laneSeq)))
}
