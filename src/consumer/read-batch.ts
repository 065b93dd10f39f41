import type { InputBatch } from '../runtime/kafka/port.ts'
import type { FulfillmentReader } from '../schemas/fulfillment-reader.ts'
import type { TakenBatch, TakenRecord } from './take-in.ts'

/** A schema that was registered a moment ago may not be known everywhere yet. */
const UNKNOWN_SCHEMA_MS = 30_000

export interface BatchReader {
  /**
   * @returns undefined: a schema is not known yet, ask again soon
   * @throws RegistryUnavailable ask again soon
   */
  readonly read: (batch: InputBatch) => Promise<TakenBatch | undefined>
}

/** Decodes a batch; what cannot be read becomes a dead letter, as it will never be readable. */
export function createBatchReader(reader: FulfillmentReader, elapsedMs: () => number): BatchReader {
  const unknownSinceMs = new Map<number, number>()
  return {
    read: async ({ records, fetchedOffset, endOffset }) => {
      const taken: TakenRecord[] = []
      for (const { offset, value } of records) {
        const reading = reader.read(value)
        const read = reading instanceof Promise ? await reading : reading
        if (read.kind === 'event') {
          taken.push({ kind: 'event', offset, event: read.event })
          continue
        }
        let detail = read.kind === 'unreadable' ? read.detail : `the registry has no schema ${read.schemaId}`
        if (read.kind === 'unknown_schema') {
          const sinceMs = unknownSinceMs.get(read.schemaId) ?? elapsedMs()
          unknownSinceMs.set(read.schemaId, sinceMs)
          if (elapsedMs() - sinceMs < UNKNOWN_SCHEMA_MS) return undefined
          detail += ` after ${UNKNOWN_SCHEMA_MS / 1_000} s`
        }
        taken.push({ kind: 'undecodable', offset, detail, value })
      }
      return { fetchedOffset, endOffset, records: taken }
    },
  }
}
