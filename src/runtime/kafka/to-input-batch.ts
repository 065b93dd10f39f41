import type { Batch, IHeaders, KafkaMessage } from 'kafkajs'
import type { InputBatch, InputRecord } from './port.ts'

/** `fetchedOffset` is there at run time and missing from kafkajs' types. */
type FetchedBatch = Batch & { readonly fetchedOffset: string }

/** One fetch of a partition as batches of at most `recordsMax` records, without a gap between them. */
export function* toInputBatches(fetched: Batch, recordsMax: number): Generator<InputBatch> {
  const { partition, messages } = fetched
  const highWatermark = Number(fetched.highWatermark)
  const fetchEnd = Number(fetched.lastOffset()) + 1
  let position = Number((fetched as FetchedBatch).fetchedOffset)
  let from = 0
  do {
    const following = messages[from + recordsMax]
    const endOffset = following === undefined ? fetchEnd : Number(following.offset)
    const records = messages.slice(from, from + recordsMax).map(toRecord)
    yield { partition, fetchedOffset: position, endOffset, highWatermark, records }
    position = endOffset
    from += recordsMax
  } while (from < messages.length)
}

export function toRecord({ offset, timestamp, key, value, headers }: KafkaMessage): InputRecord {
  return { offset: Number(offset), timestampMs: Number(timestamp), key, value, headers: toHeaders(headers) }
}

const NO_HEADERS = Object.freeze({})

/** Of a header that was written several times the last counts, as in Kafka's own `lastHeader`. */
function toHeaders(headers: IHeaders | undefined): Readonly<Record<string, Buffer>> {
  if (headers === undefined) return NO_HEADERS
  const plain: Record<string, Buffer> = {}
  for (const name in headers) {
    const value = headers[name]
    const last = Array.isArray(value) ? value.at(-1) : value
    if (last !== undefined) plain[name] = typeof last === 'string' ? Buffer.from(last) : last
  }
  return plain
}
