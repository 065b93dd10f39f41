import type { BatchControl, InputRecord } from '../runtime/kafka/port.ts'
import { ALONE_DEATHS_MAX, markAlone, unmarkAlone } from '../store/suspect.ts'
import type { Incarnation } from './incarnation.ts'
import type { BatchOutcome } from './run-batch.ts'
import { GuardRefused } from './steps.ts'

/** Suspect lanes of a process take turns: what dies then was the only suspect in flight. */
export interface SuspectTurn {
  readonly take: () => boolean
  readonly giveBack: () => void
}

export function createSuspectTurn(): SuspectTurn {
  let isTaken = false
  return {
    take: () => !isTaken && (isTaken = true),
    giveBack: () => (isTaken = false),
  }
}

/** A batch's call returns soon: kafkajs fetches for no lane meanwhile. What is left is fetched again. */
const ALONE_MS_MAX = 250

export interface AloneParts {
  readonly turn: SuspectTurn
  readonly control: Pick<BatchControl, 'isCurrent'>
  readonly elapsedMs: () => number
  /** Both transactions of one record, up to `end`. @param isKiller it must not be looked at: it is a dead letter */
  readonly runOne: (record: InputRecord, end: number, isKiller: boolean) => Promise<BatchOutcome>
}

/**
 * Takes the records of a suspect lane one at a time, each marked in the lane's row before it is looked at. The one at
 * which owners died three times becomes a dead letter unseen; all others go their usual way.
 * @param end the offset after the last record
 */
export async function runAlone(
  incarnation: Incarnation,
  records: readonly InputRecord[],
  end: number,
  { turn, control, elapsedMs, runOne }: AloneParts,
): Promise<BatchOutcome> {
  if (!turn.take()) return { kind: 'waiting_for_turn' }
  try {
    const startedMs = elapsedMs()
    let done = 0
    for (const [index, record] of records.entries()) {
      if (record.offset >= (incarnation.suspectUntil ?? 0) || elapsedMs() - startedMs > ALONE_MS_MAX) break
      if (!control.isCurrent()) return { kind: 'interrupted' }
      const { session, position } = incarnation
      const { topic, lane } = position
      const mark = { topic, lane, incarnation: session.incarnation, offset: record.offset }
      incarnation.alone = mark
      const deaths = await markAlone(session, mark)
      if (deaths === undefined) throw new GuardRefused('another incarnation')
      const outcome = await runOne(record, records[index + 1]?.offset ?? end, deaths > ALONE_DEATHS_MAX)
      if (outcome.kind !== 'done') await unmarkAlone(session, mark)
      incarnation.alone = undefined
      if (outcome.kind !== 'done') return outcome
      done++
    }
    return { kind: 'done', records: done }
  } finally {
    turn.giveBack()
  }
}
