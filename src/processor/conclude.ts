import type { Clock } from '../runtime/clock.ts'
import type { EventRow } from '../store/event-row.ts'
import { emit, type EmitOptions } from './emit.ts'
import type { Incarnation } from './incarnation.ts'
import type { Applied } from './lane-types.ts'
import type { Metrics } from './metrics.ts'
import type { Steps } from './steps.ts'

export interface ConcludeOptions {
  readonly steps: Steps
  readonly emit: EmitOptions
  readonly clock: Clock
  readonly metrics: Metrics
}

/**
 * What follows a Postgres transaction, before anything else happens on the lane: all that is not emitted yet is
 * emitted, by whomever it was inserted, and the position moves on.
 * @param applied undefined: another incarnation's rows alone
 */
export async function conclude(
  incarnation: Incarnation,
  applied: Applied | undefined,
  { steps, emit: emitOptions, clock, metrics }: ConcludeOptions,
): Promise<void> {
  const { session, position } = incarnation
  const rows = await steps.eventsToEmit(session, position, applied)
  const startedMs = clock.elapsedMs()
  const next = applied?.next ?? position.next
  let ledger: number
  try {
    ledger = await emit(incarnation, rows, next, emitOptions)
  } catch (error) {
    metrics.transactions.inc({ step: 'kafka', outcome: 'failed' })
    throw error
  }
  metrics.transactions.inc({ step: 'kafka', outcome: 'committed' })
  metrics.stepSeconds.observe({ step: 'kafka' }, (clock.elapsedMs() - startedMs) / 1_000)
  incarnation.position = { ...position, next, ledger, brakeVersion: applied?.brakeVersion ?? position.brakeVersion }
  countEvents(rows, clock.now().getTime(), metrics)
}

function countEvents(rows: readonly EventRow[], nowMs: number, metrics: Metrics): void {
  const byKind = new Map<string, number>()
  for (const { kind, receivedAtMs } of rows) {
    byKind.set(kind, (byKind.get(kind) ?? 0) + 1)
    if (receivedAtMs !== null) metrics.callbackToEvent.observe(Math.max(0, nowMs - receivedAtMs) / 1_000)
  }
  for (const [kind, count] of byKind) metrics.events.inc({ kind }, count)
}
