import { setTimeout as delay } from 'node:timers/promises'
import type { OffsetReader } from '../../runtime/kafka/port.ts'
import type { Queryable } from '../../runtime/postgres.ts'
import { ledgerGroup, ledgerMark } from '../../schemas/topics.ts'
import { firstNumberAt, nextEvent } from '../../store/audit-events.ts'
import { readLane } from '../../store/lane-row.ts'

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
  /** The lane's oldest number that Postgres still has. */
  readonly oldest: number
  /** When that was written; undefined: nothing was ever dropped. */
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
  const { below: out, row, why } = await emittedBelow(lane, options)
  if (why !== undefined) cannot(why.reason, why.detail)
  const nothing = { lane, from: 0, below: 0, oldest: 0, keptSinceMs: undefined, isCatchingUp: false, undecided }
  if (row === undefined || row.nextSeq === 0) return nothing
  if (row.halted !== undefined) cannot('halted', `${row.halted.reason}: ${row.halted.detail}`)
  const isCatchingUp = row.hasImported && row.appliedOffset < (await options.offsets.logRange(inputTopic, lane)).end
  if (isCatchingUp) cannot('catching_up', 'what is out already is still being derived again')
  const first = await nextEvent(db, lane, 0)
  if (first === undefined) {
    cannot('events_trimmed', `none of the ${row.nextSeq} events of ${inputTopic} ${lane} is kept`)
    return nothing
  }
  const isTrimmed = first.laneSeq > 0
  if (isTrimmed && sinceMs < first.createdAtMs)
    cannot('events_trimmed', `events are kept from ${new Date(first.createdAtMs).toISOString()} on`)
  const asked = await firstNumberAt(db, lane, row.nextSeq, untilMs)
  if (asked > out) cannot('not_emitted', `${asked - out} events of the window, from number ${out} on, are not out`)
  const from = await firstNumberAt(db, lane, row.nextSeq, sinceMs)
  const below = Math.max(from, Math.min(asked, out))
  const keptSinceMs = isTrimmed ? first.createdAtMs : undefined
  return { lane, from, below, oldest: first.laneSeq, keptSinceMs, isCatchingUp, undecided }
}

/** The number below which all events are surely out. */
async function emittedBelow(lane: number, { db, offsets, appId, inputTopic }: WindowOptions) {
  for (let reads = 1; ; reads++) {
    const ledger = await offsets.committed(ledgerGroup(appId), inputTopic, lane)
    const row = await readLane(db, inputTopic, lane)
    const settled = row?.settledSeq ?? 0
    const saying = (reason: Undecided['reason'], detail: string) => ({ below: settled, row, why: { reason, detail } })
    if (row === undefined || row.nextSeq === 0) return { below: 0, row, why: undefined }
    if (ledger === undefined || ledger.metadata !== ledgerMark(ledger.offset))
      return saying('no_ledger', `only what is settled, below ${settled}, is surely out`)
    if (ledger.offset > row.nextSeq)
      return saying('postgres_set_back', `the ledger is ${ledger.offset}, Postgres has numbered ${row.nextSeq}`)
    if (ledger.offset >= settled) return { below: ledger.offset, row, why: undefined }
    if (reads === LEDGER_READS)
      return saying('ledger_below_settled', `the ledger is ${ledger.offset}, ${settled} are settled`)
    await delay(LEDGER_MS)
  }
}
