import type { Queryable } from '../runtime/postgres.ts'
import { int, ms } from './statement.ts'

/** Offsets from, inclusive, to, exclusive. */
export interface OffsetRange {
  readonly from: number
  readonly to: number
}

/** One lane as Postgres has it. */
export interface LaneRow {
  readonly topic: string
  readonly lane: number
  /** Where it began: a lane is fresh while `nextSeq` is 0 and `appliedOffset` is still this. */
  readonly startOffset: number
  readonly nextSeq: number
  readonly appliedOffset: number
  readonly settledSeq: number
  readonly brakeVersion: number
  readonly fences: number
  readonly halted: { readonly reason: string; readonly detail: string; readonly atMs: number } | undefined
  readonly deadLetterOffsets: readonly number[]
  /** What a person has skipped, in order. */
  readonly skips: readonly OffsetRange[]
  /** Owners that went without a word since records were last applied. */
  readonly ownerDeaths: number
  /** The record that was alone in flight when its owner went, and how often. */
  readonly suspect: { readonly offset: number; readonly deaths: number } | undefined
  /** Some of its numbers were read back from the output topics (`imported-events.ts`). */
  readonly hasImported: boolean
  /** Names the log that it reads, after it was begun anew; undefined: it is the first. */
  readonly logId: string | undefined
  readonly updatedAtMs: number
}

interface Row {
  topic: string
  lane: number
  start_offset: string
  next_seq: string
  applied_offset: string
  settled_seq: string
  brake_version: string
  fences: string
  halted_reason: string | null
  halted_detail: string | null
  halted_at_ms: string | null
  dead_letter_offsets: string[]
  skips: [number, number][]
  owner_deaths: number
  suspect_offset: string | null
  suspect_deaths: number
  has_imported: boolean
  log_id: string | null
  updated_at_ms: string
}

const COLUMNS = `topic, lane, start_offset, next_seq, applied_offset, settled_seq, brake_version, fences, halted_reason,
  halted_detail, ${ms('halted_at')} as halted_at_ms, dead_letter_offsets, owner_deaths,
  coalesce((select jsonb_agg(jsonb_build_array(lower(r), upper(r)) order by r) from unnest(skips) r), '[]') as skips,
  suspect_offset, suspect_deaths, exists (select from imported_events i where i.lane = lanes.lane) as has_imported,
  log_id, ${ms('updated_at')} as updated_at_ms`

const laneRowOf = (row: Row): LaneRow => ({
  topic: row.topic,
  lane: row.lane,
  startOffset: int(row.start_offset),
  nextSeq: int(row.next_seq),
  appliedOffset: int(row.applied_offset),
  settledSeq: int(row.settled_seq),
  brakeVersion: int(row.brake_version),
  fences: int(row.fences),
  halted:
    row.halted_reason === null
      ? undefined
      : { reason: row.halted_reason, detail: row.halted_detail ?? '', atMs: int(row.halted_at_ms ?? 0) },
  deadLetterOffsets: row.dead_letter_offsets.map(int),
  skips: row.skips.map(([from, to]) => ({ from, to })),
  ownerDeaths: row.owner_deaths,
  suspect:
    row.suspect_offset === null || row.suspect_deaths === 0
      ? undefined
      : { offset: int(row.suspect_offset), deaths: row.suspect_deaths },
  hasImported: row.has_imported,
  logId: row.log_id ?? undefined,
  updatedAtMs: int(row.updated_at_ms),
})

/** @returns undefined: the lane never had an owner. */
export async function readLane(db: Queryable, topic: string, lane: number): Promise<LaneRow | undefined> {
  const { rows } = await db.query<Row>(`select ${COLUMNS} from lanes where topic = $1 and lane = $2`, [topic, lane])
  return rows[0] === undefined ? undefined : laneRowOf(rows[0])
}

export async function listLanes(db: Queryable, topic?: string): Promise<LaneRow[]> {
  const { rows } = await db.query<Row>(
    `select ${COLUMNS} from lanes where $1::text is null or topic = $1 order by topic, lane`,
    [topic ?? null],
  )
  return rows.map(laneRowOf)
}

/** Where a lane goes on that stands inside a skipped range, once it may: at the range's end. */
const BEHIND_SKIP = `coalesce(case when lanes.halted_reason is null then
  (select upper(r) from unnest(lanes.skips) r where r @> lanes.applied_offset) end, lanes.applied_offset)`

/** The fencing process's own last incarnation of the lane: it ended, and the process has not. */
export interface Survived {
  readonly incarnation: number
  /** A record was alone in flight, and is not to blame. */
  readonly wasAlone: boolean
}

/**
 * Counts a fence and reads the row; the first fence of a lane creates it. An owner before that never let go, and is not
 * the one that fences now, has died. Whoever comes back after another one had fenced was taken for dead, and takes that
 * back: two processes that both take a lane to be theirs fence in turn, and no record is to blame for it.
 * @param startOffset the log's first offset
 */
export async function countFence(
  db: Queryable,
  topic: string,
  lane: number,
  startOffset: number,
  before?: Survived,
): Promise<LaneRow> {
  const { rows } = await db.query<Row>(
    `insert into lanes (topic, lane, start_offset, applied_offset, fences, is_owned) values ($1, $2, $3, $3, 1, true)
     on conflict (topic, lane) do update set fences = lanes.fences + 1, updated_at = now(), is_owned = true,
       applied_offset = ${BEHIND_SKIP}, start_offset = case when lanes.next_seq = 0 and lanes.applied_offset = lanes.start_offset
         then ${BEHIND_SKIP} else lanes.start_offset end,
       owner_deaths = greatest(0, lanes.owner_deaths + (lanes.is_owned and lanes.fences <> $4)::int
         - ($4 >= 0 and lanes.fences > $4)::int),
       suspect_deaths = lanes.suspect_deaths - ($5 and lanes.suspect_deaths > 0)::int
     returning ${COLUMNS}`,
    [topic, lane, startOffset, before?.incarnation ?? -1, before?.wasAlone === true],
  )
  if (rows[0] === undefined) throw new Error(`lane ${topic}/${lane}: an upsert returned no row`)
  return laneRowOf(rows[0])
}

/** Stops a lane until a person resumes it. The first reason stays. */
export async function haltLane(
  db: Queryable,
  topic: string,
  lane: number,
  why: { readonly reason: string; readonly detail: string },
): Promise<void> {
  await db.query(
    `update lanes set halted_reason = $3, halted_detail = left($4, 2000), halted_at = now(), updated_at = now()
     where topic = $1 and lane = $2 and halted_reason is null`,
    [topic, lane, why.reason, why.detail.replaceAll('\0', '\\0')],
  )
}
