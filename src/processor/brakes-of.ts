import { createBrakes, NO_BRAKES, type Brakes } from '../orders/brake.ts'
import { readBrakes } from '../store/read-brakes.ts'
import type { LaneSession } from './lane-session.ts'
import type { Position } from './lane-types.ts'

const known = new WeakMap<LaneSession, { readonly version: number; readonly brakes: Brakes }>()

/**
 * The brakes of an incarnation's lane. They are read once, and again when the version has changed, outside of any
 * transaction. They may be newer than the version asked for, never older: whoever sets one raises the version after it.
 */
export async function brakesOf(
  session: LaneSession,
  { topic, lane, brakeVersion }: Pick<Position, 'topic' | 'lane' | 'brakeVersion'>,
): Promise<Brakes> {
  const cached = known.get(session)
  if (cached?.version === brakeVersion) return cached.brakes
  const read = await readBrakes(session, topic, lane)
  if (read === undefined) return NO_BRAKES // Then the guard refuses whatever is written.
  const brakes = createBrakes(read.set)
  known.set(session, { version: read.version, brakes })
  return brakes
}
