import type { LaneProducer } from '../runtime/kafka/port.ts'
import type { OffsetRange } from '../store/lane-row.ts'
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
  /** Below this offset records are taken one at a time, as earlier owners died here; undefined: no suspicion. */
  readonly suspectUntil?: number | undefined
  /** What a person has skipped. */
  readonly skips?: readonly OffsetRange[]
  /** A record is alone in flight, and marked. */
  isAlone?: boolean
}

export const isAlive = ({ producer, session }: Incarnation) => !producer.isDead() && session.lost() === undefined

/** Lets go of both. Waiting for it is for an orderly stop only, as neither may answer. */
export async function endIncarnation({ producer, session }: Pick<Incarnation, 'producer' | 'session'>): Promise<void> {
  await Promise.allSettled([producer.close(), session.close()])
}
