import { encodeProduce, type ProduceRequest } from '../encoding/produce-request.ts'
import type { Internals } from './internals.ts'

export interface Encodable {
  /** What kafkajs' Encoder takes for one of its own. */
  readonly encode: () => Promise<{ readonly buf: Buffer; readonly buffer: Buffer }>
}
export type CreateProduceRequest = (request: ProduceRequest & { readonly compression?: number }) => Encodable

/**
 * kafkajs encodes a record with seven headers in 12 µs: 512 zeroed bytes for the record and for each header, an array
 * for each number, a checksum of one byte a step, and nine copies of the whole request on the way to the socket. Here
 * a request is measured, then written once. Compressed batches and messages with timestamps are left to kafkajs.
 */
export function guardProduceEncoding(internals: Internals): void {
  const path = 'src/protocol/requests/produce/v3/request.js'
  const create = internals.load(path) as CreateProduceRequest
  const createGuarded: CreateProduceRequest = (request) => {
    const stock = create(request)
    if ((request.compression ?? 0) !== 0 || request.topicData.some(hasTimestamps)) return stock
    return {
      ...stock,
      encode: () => {
        const buffer = encodeProduce(request, Date.now())
        return Promise.resolve({ buf: buffer, buffer })
      },
    }
  }
  internals.replace(path, createGuarded)
}

function hasTimestamps({ partitions }: ProduceRequest['topicData'][number]): boolean {
  return partitions.some(({ messages }) =>
    messages.some((message) => (message as { timestamp?: unknown }).timestamp != null),
  )
}
