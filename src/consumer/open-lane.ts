import type pg from 'pg'
import type { OffsetReader } from '../runtime/kafka/port.ts'
import type { Log } from '../runtime/log.ts'
import { askAboutOpen } from './ask-about-open.ts'
import type { Owner } from './change-row.ts'
import { claimLane } from './claim-lane.ts'
import { findStart, type Start } from './find-start.ts'
import { raiseFences } from './raise-fences.ts'

export interface LaneOpenerParts {
  readonly pool: pg.Pool
  readonly owner: Owner
  readonly run: string
  readonly offsets: OffsetReader
  /** Effects at a third party, which a restored backup does not take back. */
  readonly isOutside: (kind: string) => boolean
  readonly log: Log
}

export interface LaneOpener {
  /**
   * Finds out where a lane stands and does what must come before its events are worked on. Safe to call again.
   * @param onSetBack before its open events are asked about: nobody may work on them
   */
  readonly open: (lane: number, onSetBack: () => void) => Promise<Start>
  /** It may stand elsewhere when it is opened again. */
  readonly forget: (lane: number) => void
  /** The last row that was open when a process ended without letting the lane go; 0: there is none. */
  readonly watchedTo: (lane: number) => number
}

export function createLaneOpener({ pool, owner, run, offsets, isOutside, log }: LaneOpenerParts): LaneOpener {
  const watchedTo = new Map<number, number>()
  /** Where a set back lane stood when its open events were asked about. */
  const askedAt = new Map<number, number>()
  return {
    open: async (lane, onSetBack) => {
      const place = { ...owner, lane }
      const found = await findStart(pool, offsets, place)
      // Once, and not each time that a stopped lane is looked at, as each time begins the wait for an answer anew.
      if (found.knownTo > found.next && (askedAt.get(lane) ?? Infinity) > found.next) {
        log.warn({ lane, next: found.next, knownTo: found.knownTo }, 'Postgres knew more once: asking before calling')
        onSetBack()
        await raiseFences(pool)
        await askAboutOpen(pool, place, isOutside)
        askedAt.set(lane, found.next)
      }
      const left = await claimLane(pool, place, run)
      if (left !== undefined) {
        log.warn({ lane }, 'the lane was not let go: its open events are worked on with care')
        watchedTo.set(lane, left)
      }
      return found
    },
    forget: (lane) => void askedAt.delete(lane),
    watchedTo: (lane) => watchedTo.get(lane) ?? 0,
  }
}
