import { DEFAULT_ROUTES } from '../orders/routes.ts'
import type { Clock } from '../runtime/clock.ts'
import type { OffsetReader } from '../runtime/kafka/port.ts'
import type { Log } from '../runtime/log.ts'
import { haltLane } from '../store/lane-row.ts'
import { applyBatch } from './apply-batch.ts'
import { applyWake } from './apply-wake.ts'
import type { ProcessorConfig } from './config.ts'
import type { Reach } from './crash-points.ts'
import { createExpiryGate, type ExpiryGate } from './expiry-gate.ts'
import { eventsToEmit } from './events-to-emit.ts'
import type { LaneSession } from './lane-session.ts'
import type { Position } from './lane-types.ts'
import type { Steps } from './steps.ts'

export interface StepParts {
  readonly clock: Clock
  readonly offsets: OffsetReader
  readonly log: Log
  readonly reach: Reach
}

/** The Postgres side of every lane of this process. */
export function createSteps(
  config: Pick<ProcessorConfig, 'HELD_LIMIT_SEC' | 'EXPIRY_GRACE_SEC' | 'EXPIRY_ASK_SEC' | 'POLICIES'>,
  { clock, offsets, log, reach }: StepParts,
): Steps {
  const heldLimitMs = config.HELD_LIMIT_SEC * 1_000
  const options = { clock, routes: DEFAULT_ROUTES, heldLimitMs, policies: config.POLICIES }
  const expiry = { expiryGraceMs: config.EXPIRY_GRACE_SEC * 1_000, expiryAskMs: config.EXPIRY_ASK_SEC * 1_000 }
  const gates = new WeakMap<LaneSession, ExpiryGate>()
  const gateOf = (session: LaneSession, { topic, lane }: Position): ExpiryGate => {
    const readEnd = async () => (await offsets.logRange(topic, lane)).end
    const gate = gates.get(session) ?? createExpiryGate({ readEnd, log: log.child({ lane }) })
    gates.set(session, gate)
    return gate
  }
  return {
    applyBatch: (session, position, records, end) => applyBatch(session, position, records, end, options, reach),
    applyWake: (session, position) =>
      applyWake(session, position, { ...options, ...expiry, expiryGate: gateOf(session, position) }, reach),
    eventsToEmit,
    haltLane: (session, { topic, lane }, reason, detail) => haltLane(session, topic, lane, { reason, detail }),
  }
}
