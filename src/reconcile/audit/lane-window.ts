import { setTimeout as delay } from 'node:timers/promises'
import type { OffsetReader } from '../../runtime/kafka/port.ts'
import type { Queryable } from '../../runtime/postgres.ts'
import { ledgerGroup, ledgerMark } from '../../schemas/topics.ts'
import { firstImported, firstNumberAt, writtenBetween } from '../../store/audit-events.ts'
import { importedRanges, rangeOf, type ImportedRange } from '../../store/imported-ranges.ts'
import { readLane } from '../../store/lane-row.ts'
import { keptOf } from './kept-since.ts'

/** Why a part of what was asked for could not be judged. */
export interface Undecided {
  readonly lane: number | null
  readonly reason:
    | 'halted'
    | 'catching_up'
    | 'no_ledger'
    | 'ledger_below_settled'
    | 'postgres_set_back'
    | 'not_emitted'
    | 'events_trimmed'
    | 'topic_trimmed'
    | 'open_transaction'
    | 'no_lane'
    | 'archive_dropped'
  readonly detail: string
}

/** The numbers of a lane that are judged: those of events that were written in the window and are surely out. */
export interface LaneWindow {
  readonly lane: number
  readonly from: number
  readonly below: number
  /** Numbers that a rebuild brought back: there an event is of the window if it was written in it. */
  readonly ranges: readonly ImportedRange[]
  /** Those of them that have any of the window. */
  readonly judged: readonly ImportedRange[]
  /** The lowest number of the window. */
  readonly lowest: number
  /** All numbers of the lane are below it, as Postgres has them; what is out is below the other, if that is higher. */
  readonly nextSeq: number
  readonly outBelow: number
  readonly sinceMs: number
  readonly untilMs: number
  /** The lane's oldest number that Postgres still has, but for what a rebuild brought back. */
  readonly oldest: number
  /** What was written then and later is kept; undefined: nothing was ever dropped. */
  readonly keptSinceMs: number | undefined
  /** Postgres was set back, and the lane still derives again what is out. */
  readonly isCatchingUp: boolean
  readonly undecided: readonly Undecided[]
}

export interface WindowOptions {
  readonly db: Queryable
  readonly offsets: OffsetReader
  readonly appId: string
  /** The input topic's full name. */
  readonly inputTopic: string
  readonly sinceMs: number
  readonly untilMs: number
}

const LEDGER_READS = 5
const LEDGER_MS = 200

/**
 * To be called before the ends of the topics are read: whatever is below the ledger stands below them. The ledger may
 * be a moment old, as nobody fences here, and then less is judged.
 */
export async function laneWindow(lane: number, options: WindowOptions): Promise<LaneWindow> {
  const { db, inputTopic, sinceMs, untilMs } = options
  const undecided: Undecided[] = []
  const cannot = (reason: Undecided['reason'], detail: string) => undecided.push({ lane, reason, detail })
  const { below: out, outBelow, row, why } = await emittedBelow(lane, options)
  if (why !== undefined) cannot(why.reason, why.detail)
  const { nextSeq = 0 } = row ?? {}
  const bounds = { lane, nextSeq, outBelow, sinceMs, untilMs, undecided }
  const none = { ranges: [], judged: [], isCatchingUp: false, keptSinceMs: undefined }
  const nothing = { ...bounds, ...none, from: 0, below: 0, lowest: 0, oldest: 0 }
  if (row === undefined || nextSeq === 0) return nothing
  if (row.halted !== undefined) cannot('halted', `${row.halted.reason}: ${row.halted.detail}`)
  const isCatchingUp = row.hasImported && row.appliedOffset < (await options.offsets.logRange(inputTopic, lane)).end
  if (isCatchingUp) cannot('catching_up', 'what is out already is still being derived again')
  // A rebuild may have ended since the row was read.
  const ranges = (await importedRanges(db, inputTopic, lane)).filter((range) => range.below <= nextSeq)
  const { oldest, keptSinceMs } = await keptOf(db, lane, nextSeq, ranges)
  if (keptSinceMs === Infinity) {
    cannot('events_trimmed', `none of the ${nextSeq} events of ${inputTopic} ${lane} is kept`)
    return nothing
  }
  if (keptSinceMs !== undefined && sinceMs < keptSinceMs)
    cannot('events_trimmed', `events are kept from ${new Date(keptSinceMs).toISOString()} on`)
  const asked = await firstNumberAt(db, lane, nextSeq, untilMs, ranges)
  if (asked > out) cannot('not_emitted', `${asked - out} events of the window, from number ${out} on, are not out`)
  const from = await firstNumberAt(db, lane, nextSeq, sinceMs, ranges)
  const below = Math.max(from, Math.min(asked, out))
  const { judged, lowest } = await judgedOf(options, lane, ranges, from)
  return { ...bounds, from, below, ranges, judged, lowest, oldest, keptSinceMs, isCatchingUp }
}

/** Whether an event is of the window. @param atMs when its row was written */
export function isWithin(
  { from, below, ranges, sinceMs, untilMs }: LaneWindow,
  laneSeq: number,
  atMs: number,
): boolean {
  if (rangeOf(ranges, laneSeq) === undefined) return laneSeq >= from && laneSeq < below
  return atMs >= sinceMs && atMs < untilMs
}

/** Where the window's events are, in the order of their numbers, and some more: see `isWithin`. */
export function piecesOf({ from, below, judged }: LaneWindow): { readonly from: number; readonly below: number }[] {
  const pieces: { from: number; below: number }[] = []
  for (const piece of [{ from, below }, ...judged].sort((a, b) => a.from - b.from)) {
    const last = pieces.at(-1)
    if (last !== undefined && piece.from <= last.below) last.below = Math.max(last.below, piece.below)
    else pieces.push({ from: piece.from, below: piece.below })
  }
  return pieces
}

/** What was brought back and not derived again is of the window in which it was brought back. */
async function judgedOf(
  { db, sinceMs, untilMs }: WindowOptions,
  lane: number,
  ranges: readonly ImportedRange[],
  from: number,
) {
  const judged: ImportedRange[] = []
  let lowest = from
  for (const range of ranges) {
    const { first } = await writtenBetween(db, lane, range, { sinceMs, untilMs })
    const isOf = range.atMs >= sinceMs && range.atMs < untilMs
    const left = isOf ? await firstImported(db, lane, range) : undefined
    if (first !== undefined) judged.push(range)
    lowest = Math.min(lowest, first ?? lowest, left ?? lowest)
  }
  return { judged, lowest }
}

/** The number below which all events are surely out. */
async function emittedBelow(lane: number, { db, offsets, appId, inputTopic }: WindowOptions) {
  for (let reads = 1; ; reads++) {
    const ledger = await offsets.committed(ledgerGroup(appId), inputTopic, lane)
    const row = await readLane(db, inputTopic, lane)
    const settled = row?.settledSeq ?? 0
    const saying = (reason: Undecided['reason'], detail: string) => ({
      ...{ below: settled, outBelow: ledger?.offset ?? 0, row, why: { reason, detail } },
    })
    const hasMark = ledger !== undefined && ledger.metadata === ledgerMark(ledger.offset)
    if (row === undefined || (row.nextSeq === 0 && !(hasMark && ledger.offset > 0)))
      return { below: 0, outBelow: 0, row, why: undefined }
    if (!hasMark)
      return { ...saying('no_ledger', `only what is settled, below ${settled}, is surely out`), outBelow: 0 }
    if (ledger.offset > row.nextSeq)
      return saying('postgres_set_back', `the ledger is ${ledger.offset}, Postgres has numbered ${row.nextSeq}`)
    if (ledger.offset >= settled) return { below: ledger.offset, outBelow: 0, row, why: undefined }
    if (reads === LEDGER_READS)
      return saying('ledger_below_settled', `the ledger is ${ledger.offset}, ${settled} are settled`)
    await delay(LEDGER_MS)
  }
}
