import type { Queryable } from '../runtime/postgres.ts'
import { int2s, int8s } from './bind.ts'
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
}

const COLUMNS = 'lane_seq, event_id, topic, kind, merchant, key, sequence, cause, amount_minor, currency, payment_ref'
type Row = [
  ...[laneSeq: unknown, eventId: string, topic: string, kind: string, merchant: string | null, key: string],
  ...[sequence: number | null, cause: string, amountMinor: unknown, currency: string | null, paymentRef: string | null],
]
const rowOf = (row: Row): AuditRow => ({
  laneSeq: int(row[0]),
  ...{ eventId: row[1], topic: row[2], kind: row[3], merchant: row[4], key: row[5], sequence: row[6], cause: row[7] },
  amountMinor: intOrNull(row[8]),
  ...{ currency: row[9], paymentRef: row[10] },
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

/**
 * The number of the lane's first event that was written at a time or after it, as numbers rise with the time; `nextSeq`
 * if there is none. Some twenty probes of the key, as no index has the time.
 */
export async function firstNumberAt(db: Queryable, lane: number, nextSeq: number, atMs: number): Promise<number> {
  let [low, high] = [0, nextSeq]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const next = await nextEvent(db, lane, middle)
    if (next === undefined || next.createdAtMs >= atMs) high = middle
    else low = next.laneSeq + 1
  }
  return (await nextEvent(db, lane, low))?.laneSeq ?? nextSeq
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
