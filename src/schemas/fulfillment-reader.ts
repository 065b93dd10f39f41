import avro from 'avsc'
import { boundedCollections } from './bounded-types.ts'
import { SCHEMAS, subjectOf } from './definitions.ts'
import type { Fulfillment } from './fulfillment.ts'
import { connectRegistry } from './registry.ts'
import { fetchType, readerOf, type Reader } from './schema-reader.ts'
import type { FULFILLMENT_TOPICS } from './topics.ts'

export type FulfillmentTopic = (typeof FULFILLMENT_TOPICS)[number]
export type ReadFulfillment =
  | { readonly kind: 'event'; readonly event: Fulfillment }
  | { readonly kind: 'unreadable'; readonly detail: string }
  /** The registry denies it; a schema that was registered a moment ago may still appear: ask again. */
  | { readonly kind: 'unknown_schema'; readonly schemaId: number }

export interface FulfillmentReader {
  /**
   * A promise only for a schema that is met for the first time.
   * @throws RegistryUnavailable nothing was learnt about the message: wait and call again
   */
  readonly read: (value: Buffer | null) => Promise<ReadFulfillment> | ReadFulfillment
}

const MAGIC_BYTE = 0
const HEADER_BYTES = 5
const BYTES_MAX = 256

/** Reads one fulfillment topic, by whichever schema each message was written. */
export function createFulfillmentReader(
  registryUrl: string,
  topicPrefix: string,
  topic: FulfillmentTopic,
): FulfillmentReader {
  const registry = connectRegistry(registryUrl)
  const own = avro.Type.forSchema(SCHEMAS[topic], { typeHook: boundedCollections })
  const readers = new Map<number, Reader>()
  const load = async (schemaId: number, value: Buffer): Promise<ReadFulfillment> => {
    const writer = await fetchType(registry, schemaId, subjectOf(topicPrefix, topic))
    if (writer === undefined) return { kind: 'unknown_schema', schemaId }
    const reader = readerOf(own, writer, schemaId, 'event')
    readers.set(schemaId, reader)
    return decode(own, reader, value)
  }
  return {
    read: (value) => {
      if (value === null || value.length <= HEADER_BYTES || value[0] !== MAGIC_BYTE)
        return { kind: 'unreadable', detail: 'it is not in the registry’s wire form' }
      const schemaId = value.readUInt32BE(1)
      const reader = readers.get(schemaId)
      return reader === undefined ? load(schemaId, value) : decode(own, reader, value)
    },
  }
}

function decode(type: avro.Type, reader: Reader, value: Buffer): ReadFulfillment {
  if ('unreadable' in reader) return { kind: 'unreadable', detail: reader.unreadable }
  let read: { readonly value: Fulfillment; readonly offset: number }
  try {
    read = type.decode(value, HEADER_BYTES, reader.resolver)
  } catch (error) {
    return { kind: 'unreadable', detail: error instanceof Error ? error.message.slice(0, 100) : 'it cannot be read' }
  }
  if (read.offset !== value.length) return { kind: 'unreadable', detail: 'its length is wrong' }
  const bad = (['eventId', 'kind', 'merchant', 'outTradeNo'] as const).find((name) => !isSound(read.value[name]))
  if (bad !== undefined) return { kind: 'unreadable', detail: `bad ${bad}` }
  // avsc gives objects of a class of its own.
  return { kind: 'event', event: { ...read.value } }
}

/** What Avro cannot say: Postgres refuses a NUL. */
const isSound = (text: string) => text !== '' && Buffer.byteLength(text) <= BYTES_MAX && !text.includes('\0')
