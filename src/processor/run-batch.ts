import type { BatchControl, InputBatch, InputRecord } from '../runtime/kafka/port.ts'
import { runInParts, type Part, type PartOutcome } from './bisect.ts'
import { conclude, type ConcludeOptions } from './conclude.ts'
import type { Reach } from './crash-points.ts'
import { ALONE_DEATHS_MAX } from '../store/suspect.ts'
import { deadLetter, skipped, type DecodedRecords, type DecodeRecords, type LaneIdentity } from './decode-records.ts'
import { fateOf } from './fate.ts'
import type { Incarnation } from './incarnation.ts'
import type { LaneRecord } from './lane-types.ts'
import { runAlone, type SuspectTurn } from './run-alone.ts'
import { GuardRefused } from './steps.ts'

export interface BatchOptions extends ConcludeOptions {
  readonly identity: LaneIdentity
  readonly decode: DecodeRecords
  readonly reach: Reach
  readonly suspects: SuspectTurn
}

export type BatchOutcome =
  | { readonly kind: 'done'; readonly records: number }
  /** The record at the new position is of a schema that nobody knows yet. */
  | { readonly kind: 'waiting_for_schema'; readonly schemaId: number }
  /** The partition is no longer ours, or the process stops; what is done stays done. */
  | { readonly kind: 'interrupted' }
  /** The lane is suspect, and so is another one of this process, which is at work. */
  | { readonly kind: 'waiting_for_turn' }
  | { readonly kind: 'halt'; readonly reason: 'flood' | 'unexpected_error'; readonly detail: string }

/**
 * Takes a batch's records from the incarnation's position on through both transactions.
 * @throws GuardRefused, EmissionFailed, and what `fateOf` knows; the incarnation is over then
 */
export async function runBatch(
  incarnation: Incarnation,
  batch: Pick<InputBatch, 'records' | 'endOffset'>,
  control: Pick<BatchControl, 'resolve' | 'isCurrent'>,
  options: BatchOptions,
): Promise<BatchOutcome> {
  const { next } = incarnation.position
  const ahead = batch.records.filter(({ offset }) => offset >= next)
  const [first] = ahead
  if (first !== undefined && first.offset < (incarnation.suspectUntil ?? 0))
    return runAlone(incarnation, ahead, batch.endOffset, {
      turn: options.suspects,
      control,
      elapsedMs: options.clock.elapsedMs,
      runOne: (record, end, isKiller) => {
        if (!isKiller) return runRecords(incarnation, [record], end, control, options)
        const letter = deadLetter(
          record,
          'killed_owner',
          `owners died ${ALONE_DEATHS_MAX} times while it was alone in flight`,
        )
        return runDecoded(incarnation, { records: [letter], end }, undefined, control, options)
      },
    })
  return runRecords(incarnation, ahead, batch.endOffset, control, options)
}

async function runRecords(
  incarnation: Incarnation,
  ahead: readonly InputRecord[],
  batchEnd: number,
  control: Pick<BatchControl, 'resolve' | 'isCurrent'>,
  options: BatchOptions,
): Promise<BatchOutcome> {
  const { skips = [] } = incarnation
  const isSkipped = ({ offset }: InputRecord) => skips.some(({ from, to }) => from <= offset && offset < to)
  const left = skips.length === 0 ? [] : ahead.filter(isSkipped)
  const taken = left.length === 0 ? ahead : ahead.filter((record) => !isSkipped(record))
  const { records, waitingFor } = await options.decode(taken, options.identity)
  const end = waitingFor?.offset ?? batchEnd
  // Not even decoded; noted, so that a person sees what was left out.
  const noted = left.filter(({ offset }) => offset < end).map(skipped)
  const all = noted.length === 0 ? records : [...records, ...noted].sort((a, b) => a.offset - b.offset)
  return runDecoded(incarnation, { records: all, end }, waitingFor, control, options)
}

async function runDecoded(
  incarnation: Incarnation,
  { records, end }: Part<LaneRecord>,
  waitingFor: DecodedRecords['waitingFor'],
  control: Pick<BatchControl, 'resolve' | 'isCurrent'>,
  options: BatchOptions,
): Promise<BatchOutcome> {
  const { next } = incarnation.position
  if (end > next) {
    const run = (part: Part<LaneRecord>) => runPart(incarnation, part, control, options)
    const outcome = await runInParts({ records, end }, run, bury)
    if (outcome.kind === 'guilty')
      return { kind: 'halt', reason: 'unexpected_error', detail: `a dead letter was refused: ${outcome.detail}` }
    if (outcome.kind === 'stopped')
      return outcome.why === 'interrupted'
        ? { kind: 'interrupted' }
        : { kind: 'halt', reason: 'flood', detail: `at offset ${incarnation.position.next} of the input` }
  }
  if (waitingFor !== undefined) return { kind: 'waiting_for_schema', schemaId: waitingFor.schemaId }
  return { kind: 'done', records: records.length }
}

const bury = (record: LaneRecord, detail: string) =>
  deadLetter(record, 'unprocessable', detail, record.content.kind === 'skipped' ? undefined : record.content.callback)

async function runPart(
  incarnation: Incarnation,
  part: Part<LaneRecord>,
  control: Pick<BatchControl, 'resolve' | 'isCurrent'>,
  options: BatchOptions,
): Promise<PartOutcome> {
  if (!control.isCurrent()) return { kind: 'stopped', why: 'interrupted' }
  const { steps, clock, metrics, reach } = options
  const { session, position } = incarnation
  const startedMs = clock.elapsedMs()
  let applied: Awaited<ReturnType<typeof steps.applyBatch>>
  try {
    applied = await steps.applyBatch(session, position, part.records, part.end)
  } catch (error) {
    metrics.transactions.inc({ step: 'postgres', outcome: 'failed' })
    const fate = fateOf(error)
    if (fate.kind !== 'bisect' || session.lost() !== undefined) throw error
    return { kind: 'guilty', detail: fate.detail }
  }
  if (applied.kind === 'fence') {
    metrics.transactions.inc({ step: 'postgres', outcome: 'refused' })
    throw new GuardRefused(applied.reason)
  }
  metrics.transactions.inc({ step: 'postgres', outcome: 'committed' })
  metrics.stepSeconds.observe({ step: 'postgres' }, (clock.elapsedMs() - startedMs) / 1_000)
  metrics.batchRecords.observe(part.records.length)
  for (const [outcome, count] of Object.entries(applied.outcomes)) metrics.records.inc({ outcome }, count)
  for (const reason of applied.newDeadLetters) metrics.deadLetters.inc({ reason })
  metrics.hintsLeftOut.inc(applied.hintsLeftOut)
  await conclude(incarnation, applied, applied.nextSeq, options)
  control.resolve(applied.next)
  await reach('emit_after_resolve')
  return applied.flooded ? { kind: 'stopped', why: 'flooded' } : { kind: 'done' }
}
