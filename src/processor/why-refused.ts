import { readLane } from '../store/lane-row.ts'
import type { LaneSession } from './lane-session.ts'
import type { MustFence, Position } from './lane-types.ts'

/** A person set or released a brake: read it and run the same work again. */
export interface BrakeChanged {
  readonly kind: 'brake_changed'
  readonly brakeVersion: number
}

/** Says why the lane's row refused a transaction, which is rolled back by now. */
export async function whyRefused(session: LaneSession, position: Position): Promise<MustFence | BrakeChanged> {
  const row = await readLane(session, position.topic, position.lane)
  if (row === undefined) return { kind: 'fence', reason: 'lane_row_missing' }
  if (row.halted !== undefined) return { kind: 'fence', reason: 'halted' }
  if (row.nextSeq < position.ledger) return { kind: 'fence', reason: 'counter_behind_ledger' }
  if (row.appliedOffset < position.next) return { kind: 'fence', reason: 'applied_behind_next' }
  if (row.brakeVersion !== position.brakeVersion) return { kind: 'brake_changed', brakeVersion: row.brakeVersion }
  return { kind: 'fence', reason: 'guard' }
}
