import { ORDER_FIELD_BYTES_MAX, TIME_MS_MAX } from '../orders/limits.ts'
import type { Clock } from '../runtime/clock.ts'
import type { InputRecord } from '../runtime/kafka/port.ts'
import type { Callback } from '../schemas/callback.ts'
import type { Codec } from '../schemas/codec.ts'
import { continueTrace } from '../schemas/headers.ts'
import type { DeadLetterReason } from '../store/dead-letter.ts'
import type { LaneRecord } from './lane-types.ts'

/** Where a lane's records must belong; `laneOf` is the partitioner that the gateway uses. */
export interface LaneIdentity {
  readonly lane: number
  readonly laneOf: (key: Buffer) => number
}

export interface DecodedRecords {
  /** A prefix of what was given. */
  readonly records: readonly LaneRecord[]
  /** The record after the prefix is of a schema that the registry denies; it gets some time to appear. */
  readonly waitingFor: { readonly schemaId: number; readonly offset: number } | undefined
}

export const SCHEMA_WAIT_MS = 30_000
const SCHEMAS_WAITED_FOR_MAX = 1_000

/** Decodes the records of all lanes of a process, so that an unknown schema is waited for once. */
export function createRecordDecoder(codec: Pick<Codec, 'decodeCallback' | 'load'>, clock: Pick<Clock, 'elapsedMs'>) {
  const deniedSinceMs = new Map<number, number>()

  /** True once the registry has denied the id for as long as we wait. */
  const isGivenUp = (schemaId: number): boolean => {
    const now = clock.elapsedMs()
    const since = deniedSinceMs.get(schemaId)
    if (since !== undefined) return now - since >= SCHEMA_WAIT_MS
    if (deniedSinceMs.size >= SCHEMAS_WAITED_FOR_MAX) deniedSinceMs.clear()
    deniedSinceMs.set(schemaId, now)
    return false
  }

  /** @throws RegistryUnavailable an unknown id came and the registry is away: nothing is decided about the record. */
  return async function decodeRecords(
    records: readonly InputRecord[],
    identity: LaneIdentity,
  ): Promise<DecodedRecords> {
    const decoded: LaneRecord[] = []
    for (const record of records) {
      let result = codec.decodeCallback(record.value)
      if (result.kind === 'unknown_schema') {
        const { schemaId } = result
        if ((await codec.load(schemaId)) === 'loaded') {
          deniedSinceMs.delete(schemaId)
          result = codec.decodeCallback(record.value)
        } else if (!isGivenUp(schemaId)) return { records: decoded, waitingFor: { schemaId, offset: record.offset } }
      }
      if (result.kind === 'callback') decoded.push(checked(record, result.callback, identity))
      else if (result.kind === 'undecodable') decoded.push(deadLetter(record, 'undecodable', result.detail))
      else decoded.push(deadLetter(record, 'unknown_schema', `the registry does not know schema ${result.schemaId}`))
    }
    return { records: decoded, waitingFor: undefined }
  }
}
export type DecodeRecords = ReturnType<typeof createRecordDecoder>

/** What cannot be processed although it was decoded, most telling reason first. */
function checked(record: InputRecord, callback: Callback, { lane, laneOf }: LaneIdentity): LaneRecord {
  const { merchant, outTradeNo, facts } = callback
  const refuse = (reason: DeadLetterReason, detail: string) => deadLetter(record, reason, detail, callback)
  const time = [callback.receivedAtMs, ...facts.map((fact) => fact.eventTimeMs)].find((ms) => ms > TIME_MS_MAX)
  if (time !== undefined) return deadLetter(record, 'undecodable', `the time ${time} is beyond the year 2255`)
  const noted: LaneRecord = { ...common(record), content: { kind: 'noted', callback } }
  const isUnderstood = facts.length > 0 || callback.instead !== null
  // Of a message that names no order this says more than its kind: it is why no fact of it could be used.
  if (outTradeNo === null)
    return callback.instead === null ? refuse('unroutable', `${callback.messageType} names no order`) : noted
  if (!isUnderstood) return refuse('unsupported', callback.messageType)
  for (const [field, value] of [
    ['merchant', merchant],
    ['outTradeNo', outTradeNo],
  ] as const)
    if (Buffer.byteLength(value) > ORDER_FIELD_BYTES_MAX)
      return deadLetter(record, 'invalid_identity', `${field} has more than ${ORDER_FIELD_BYTES_MAX} bytes`)
  if (record.key?.toString() !== outTradeNo) return refuse('misrouted', 'the key is not the order number')
  const home = laneOf(record.key)
  if (home !== lane) return refuse('misrouted', `the key belongs to lane ${home}`)
  if (facts.length === 0) return noted
  return { ...common(record), content: { kind: 'callback', callback: { ...callback, outTradeNo } } }
}

/** @param detail for a person; never a value from the record that could hold a secret */
export const deadLetter = (
  record: InputRecord | LaneRecord,
  reason: DeadLetterReason,
  detail: string,
  callback?: Callback,
): LaneRecord => ({
  ...common(record),
  content: { kind: 'dead_letter', reason, detail, ...(callback === undefined ? {} : { callback }) },
})

/** A record that a person has skipped: nothing of it is looked at. */
export const skipped = (record: InputRecord): LaneRecord => ({ ...common(record), content: { kind: 'skipped' } })

const common = (record: InputRecord | LaneRecord) => ({
  offset: record.offset,
  // A producer may write any timestamp; ours only chooses a day's partition.
  timestampMs: Math.min(Math.max(record.timestampMs, 0), TIME_MS_MAX),
  key: record.key,
  value: record.value,
  headers: record.headers,
  traceparent: continueTrace(record.headers['traceparent']?.toString('latin1')),
})
