import type { EventRow } from '../store/event-row.ts'
import type { LaneSession } from './lane-session.ts'
import type { Applied, LaneRecord, MustFence, NothingToDo, Position } from './lane-types.ts'

/** The Postgres side of a lane, as the lane sees it. */
export interface Steps {
  readonly applyBatch: (
    session: LaneSession,
    position: Position,
    records: readonly LaneRecord[],
    end: number,
  ) => Promise<Applied | MustFence>
  /** Held releases, commands and due timers. */
  readonly applyWake: (session: LaneSession, position: Position) => Promise<Applied | MustFence | NothingToDo>
  /** All rows with lane_seq >= ledger, in order, complete; `applied` undefined: read them all. */
  readonly eventsToEmit: (
    session: LaneSession,
    position: Position,
    applied: Applied | undefined,
  ) => Promise<readonly EventRow[]>
  readonly haltLane: (session: LaneSession, position: Position, reason: string, detail: string) => Promise<void>
}

/** The lane's row refused what was to be written: nothing was, and only a fence can tell where the lane stands. */
export class GuardRefused extends Error {
  override readonly name = 'GuardRefused'
}
