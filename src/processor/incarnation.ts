import { withDeadline } from '../runtime/kafka/deadline.ts'
import type { LaneProducer } from '../runtime/kafka/port.ts'
import type { OutputMarks } from '../schemas/output-marks.ts'
import type { OffsetRange } from '../store/lane-row.ts'
import { unmarkAlone, type AloneRecord } from '../store/suspect.ts'
import type { LaneSession } from './lane-session.ts'
import type { Position } from './lane-types.ts'

/**
 * One ownership of a lane: a producer that has fenced all older ones, one Postgres connection, and the position that
 * was read after the fence. Any error ends it; nothing of it is ever repaired or used again.
 */
export interface Incarnation {
  /** How many group joins had happened when it began; another join ends it. */
  readonly joins: number
  readonly producer: LaneProducer
  readonly session: LaneSession
  /** Only the lane writes it, under its mutex. */
  position: Position
  /** Where its events lie in the output topics; as `position`. */
  outputs: OutputMarks
  /** Below this offset records are taken one at a time, as earlier owners died here; undefined: no suspicion. */
  readonly suspectUntil?: number | undefined
  /** What a person has skipped. */
  readonly skips?: readonly OffsetRange[]
  /** The mark of the record that is alone in flight; while it stands, the record is to blame for the owner's death. */
  alone?: AloneRecord | undefined
}

export const isAlive = ({ producer, session }: Incarnation) => !producer.isDead() && session.lost() === undefined

/** Lets go of both. Waiting for it is for an orderly stop only, as neither may answer. */
export async function endIncarnation(ended: Pick<Incarnation, 'producer' | 'session' | 'alone'>): Promise<void> {
  const { producer, session, alone } = ended
  const letGo = alone === undefined ? session.close() : takeBack(ended, alone).then(() => session.close())
  await Promise.allSettled([producer.close(), letGo])
}

const TAKE_BACK_MS_MAX = 500

/** An owner that lets go in order has not died of the record: the next one need not be this process. */
async function takeBack(ended: Pick<Incarnation, 'session' | 'alone'>, mark: AloneRecord) {
  if (ended.session.lost() !== undefined) return
  ended.alone = undefined // At once: a fence of this process that comes meanwhile would take it back as well.
  await withDeadline(unmarkAlone(ended.session, mark), TAKE_BACK_MS_MAX, 'Taking a mark back').catch(() => {
    ended.alone = mark
  })
}
