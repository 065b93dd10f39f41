import type { Clock } from '../runtime/clock.ts'
import type { EventRow } from '../store/event-row.ts'
import { BrokenSequence } from '../store/emission-plan.ts'
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
 * emitted, by whomever it was inserted, and the position moves on. Several Kafka transactions, if an earlier owner left
 * more than one carries; at least one.
 * @param applied undefined: what other incarnations left
 * @param nextSeq the lane's counter: the ledger when all is emitted
 */
export async function conclude(
  incarnation: Incarnation,
  applied: Applied | undefined,
  nextSeq: number,
  options: ConcludeOptions,
): Promise<void> {
  let inHand = applied
  do {
    const { session, position } = incarnation
    const rows = await options.steps.eventsToEmit(session, position, inHand)
    if (rows.length === 0 && position.ledger < nextSeq)
      throw new BrokenSequence(`no event from ${position.ledger} on, though the lane's counter is ${nextSeq}`)
    const next = applied?.next ?? position.next
    const ledger = await emitCounted(incarnation, rows, next, options)
    incarnation.position = { ...position, next, ledger, brakeVersion: applied?.brakeVersion ?? position.brakeVersion }
    inHand = undefined
  } while (incarnation.position.ledger < nextSeq)
}

async function emitCounted(
  incarnation: Incarnation,
  rows: readonly EventRow[],
  next: number,
  { emit: emitOptions, clock, metrics }: ConcludeOptions,
): Promise<number> {
  const startedMs = clock.elapsedMs()
  try {
    const ledger = await emit(incarnation, rows, next, emitOptions)
    metrics.transactions.inc({ step: 'kafka', outcome: 'committed' })
    metrics.stepSeconds.observe({ step: 'kafka' }, (clock.elapsedMs() - startedMs) / 1_000)
    countEvents(rows, clock.now().getTime(), metrics)
    return ledger
  } catch (error) {
    metrics.transactions.inc({ step: 'kafka', outcome: 'failed' })
    throw error
  }
}

function countEvents(rows: readonly EventRow[], nowMs: number, metrics: Metrics): void {
  const byKind = new Map<string, number>()
  for (const { kind, receivedAtMs, attrs } of rows) {
    byKind.set(kind, (byKind.get(kind) ?? 0) + 1)
    if (kind === 'anomaly_resolved') metrics.resolutions.inc(labelsOf(attrs))
    if (receivedAtMs !== null) metrics.callbackToEvent.observe(Math.max(0, nowMs - receivedAtMs) / 1_000)
  }
  for (const [kind, count] of byKind) metrics.events.inc({ kind }, count)
}

/** As the notice has them: both are of fixed sets (`orders/anomaly.ts`). */
function labelsOf(attrs: string | null) {
  const { anomaly, resolution } = JSON.parse(attrs ?? '{}') as { anomaly?: string; resolution?: string }
  return { kind: anomaly ?? 'unknown', resolution: resolution ?? 'unknown' }
}
