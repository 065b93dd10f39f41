import type { Acknowledged, OnCommitStep } from '../runtime/kafka/port.ts'
import { marksAfter, OutputMoved, writeMarks, type OutputMarks } from '../schemas/output-marks.ts'
import { inputGroup, ledgerGroup, ledgerMark } from '../schemas/topics.ts'
import type { EventRow } from '../store/event-row.ts'
import type { Reach } from './crash-points.ts'
import { assertDense, planEmission, type PlanOptions } from '../store/emission-plan.ts'
import type { Incarnation } from './incarnation.ts'
import type { Position } from './lane-types.ts'

export interface EmitOptions extends Omit<PlanOptions, 'lane'> {
  readonly appId: string
  readonly reach: Reach
}

/** The Kafka transaction failed: its outcome is unknown, the incarnation is dead, a fence will tell. */
export class EmissionFailed extends Error {
  override readonly name = 'EmissionFailed'
}

/** Input offset and ledger as they are committed together, the ledger with its mark, the offset with those of the topics. */
export const offsetsOf = (
  appId: string,
  { topic, lane, inputId = '', logId = '' }: Position,
  next: number,
  ledger: number,
  outputs: OutputMarks,
) => [
  {
    group: inputGroup(appId),
    topic,
    partition: lane,
    offset: next,
    metadata: writeMarks(outputs, { id: inputId, log: logId }),
  },
  { group: ledgerGroup(appId), topic, partition: lane, offset: ledger, metadata: ledgerMark(ledger) },
]

/**
 * Step 2: one Kafka transaction of all rows from the ledger on, the input offset and the new ledger.
 * @param rows every row with lane_seq >= ledger, whoever inserted it
 * @returns the new ledger
 * @throws BrokenSequence nothing was sent; OutputMoved nothing was committed; EmissionFailed
 */
export async function emit(
  incarnation: Incarnation,
  rows: readonly EventRow[],
  next: number,
  options: EmitOptions,
): Promise<number> {
  const { appId, topicPrefix, reach } = options
  const { producer, position } = incarnation
  assertDense(rows, position.ledger)
  const messages = planEmission(rows, { ...options, lane: position.lane })
  const ledger = position.ledger + rows.length
  const onStep: OnCommitStep = async (step, count) => {
    if (step === 'offset') return reach(count === 1 ? 'emit_after_group_offset' : 'emit_after_ledger')
    if (count === 1) await reach('emit_after_first_send')
    if (count === messages.length) await reach('emit_after_sends')
  }
  let outputs = incarnation.outputs
  const offsets = (sent: readonly Acknowledged[]) => {
    outputs = marksAfter(
      outputs,
      sent.map((call) => ({ ...call, topic: call.topic.slice(topicPrefix.length) })),
    )
    return offsetsOf(appId, position, next, ledger, outputs)
  }
  await reach('emit_before_transaction')
  try {
    await producer.commit(messages, offsets, onStep)
  } catch (error) {
    if (error instanceof OutputMoved) throw error
    throw new EmissionFailed(error instanceof Error ? error.message : String(error), { cause: error })
  }
  incarnation.outputs = outputs
  await reach('emit_after_kafka_commit')
  return ledger
}
