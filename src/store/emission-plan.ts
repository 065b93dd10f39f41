import type { OutgoingMessage, PartitionMessages } from '../runtime/kafka/port.ts'
import { cloudEventHeaders, continueTrace } from '../schemas/headers.ts'
import { ANOMALY_TOPIC, DEAD_LETTER_TOPIC } from '../schemas/topics.ts'
import type { EventRow } from './event-row.ts'

export interface PlanOptions {
  readonly lane: number
  readonly topicPrefix: string
  /** CloudEvents' `source`: which installation says it. */
  readonly source: string
  readonly encode: (topic: string, value: object) => Buffer
}

/** Rows are missing or out of order between the ledger and the lane's counter: nothing may be emitted. */
export class BrokenSequence extends Error {
  override readonly name = 'BrokenSequence'
}

/** @throws BrokenSequence unless the rows are exactly ledger, ledger + 1, …: a gap would never be emitted. */
export function assertDense(rows: readonly EventRow[], ledger: number): void {
  for (const [index, { laneSeq }] of rows.entries())
    if (laneSeq !== ledger + index)
      throw new BrokenSequence(`event ${laneSeq} of the lane stands where ${ledger + index} is due`)
}

/**
 * Turns a lane's rows into messages: per topic in order, to the partition with the lane's index, so that each output
 * partition has one writer. The producer cuts them so that no call is too large.
 */
export function planEmission(rows: readonly EventRow[], options: PlanOptions): PartitionMessages[] {
  const byTopic = new Map<string, OutgoingMessage[]>()
  for (const row of rows) {
    const message = messageOf(row, options)
    const messages = byTopic.get(row.topic)
    if (messages === undefined) byTopic.set(row.topic, [message])
    else messages.push(message)
  }
  return [...byTopic].map(([topic, messages]) => ({
    topic: options.topicPrefix + topic,
    partition: options.lane,
    messages,
  }))
}

function messageOf(row: EventRow, { lane, source, encode }: PlanOptions): OutgoingMessage {
  return {
    key: row.key,
    value: encode(row.topic, valueOf(row, lane)),
    headers: cloudEventHeaders({
      id: row.eventId,
      type: `paidonce.${row.kind}`,
      source,
      timeMs: row.occurredAtMs,
      subject: row.key,
      traceparent: row.traceparent ?? continueTrace(undefined),
    }),
  }
}

/** The fields of the topic's schema (`src/schemas/*.avsc`). */
function valueOf(row: EventRow, lane: number): object {
  const { laneSeq, eventId, occurredAtMs } = row
  if (row.topic === DEAD_LETTER_TOPIC) return { eventId, lane, laneSeq, occurredAtMs, attrs: row.attrs ?? '{}' }
  const common = { eventId, kind: row.kind, merchant: row.merchant ?? '', outTradeNo: row.key, lane, laneSeq }
  if (row.topic === ANOMALY_TOPIC) return { ...common, cause: row.cause, occurredAtMs, attrs: row.attrs ?? '{}' }
  return {
    ...common,
    sequence: row.sequence ?? 0,
    cause: row.cause,
    amountMinor: row.amountMinor,
    currency: row.currency,
    paymentRef: row.paymentRef,
    occurredAtMs,
    receivedAtMs: row.receivedAtMs,
    attrs: row.attrs,
    payload: row.payload,
  }
}
