import avro from 'avsc'
import { boundedCollections } from './bounded-types.ts'
import { SCHEMAS, subjectOf } from './definitions.ts'
import { connectRegistry } from './registry.ts'
import { fetchType, readerOf, type Reader } from './schema-reader.ts'
import { DEAD_LETTER_TOPIC, OUTPUT_TOPICS } from './topics.ts'

/** What a message of an output topic says; null where its topic has no such field. */
export interface SentEvent {
  readonly eventId: string
  readonly kind: string
  readonly merchant: string | null
  readonly outTradeNo: string | null
  readonly lane: number
  readonly laneSeq: number
  readonly sequence: number | null
  readonly cause: string | null
  readonly amountMinor: number | null
  readonly currency: string | null
  readonly paymentRef: string | null
}
export type ReadEvent =
  { readonly kind: 'event'; readonly event: SentEvent } | { readonly kind: 'unreadable'; readonly detail: string }

export interface EventReader {
  /**
   * @param topic without the installation's prefix
   * @throws RegistryUnavailable nothing was learnt about the message
   */
  readonly read: (topic: string, value: Buffer | null) => Promise<ReadEvent> | ReadEvent
}

const MAGIC_BYTE = 0
const HEADER_BYTES = 5
const KIND_OF_NOTICE = 'dead_letter'

/** Reads what lanes emitted, by whichever schema each message was written. */
export function createEventReader(registryUrl: string, topicPrefix: string): EventReader {
  const registry = connectRegistry(registryUrl)
  const own = new Map(
    OUTPUT_TOPICS.map((topic): [string, avro.Type] => [
      topic,
      avro.Type.forSchema(SCHEMAS[topic], { typeHook: boundedCollections }),
    ]),
  )
  const readers = new Map<string, Reader>()

  const load = async (topic: string, type: avro.Type, schemaId: number): Promise<Reader> => {
    const writer = await fetchType(registry, schemaId, subjectOf(topicPrefix, topic))
    const reader: Reader =
      writer === undefined
        ? { unreadable: `the registry has no schema ${schemaId}` }
        : readerOf(type, writer, schemaId, 'event')
    readers.set(`${topic} ${schemaId}`, reader)
    return reader
  }
  return {
    read: (topic, value) => {
      const type = own.get(topic)
      if (type === undefined) throw new Error(`${topic} is no output topic`)
      if (value === null || value.length <= HEADER_BYTES || value[0] !== MAGIC_BYTE)
        return { kind: 'unreadable', detail: 'it is not in the registry’s wire form' }
      const schemaId = value.readUInt32BE(1)
      const known = readers.get(`${topic} ${schemaId}`)
      if (known !== undefined) return decode(topic, type, known, value)
      return load(topic, type, schemaId).then((reader) => decode(topic, type, reader, value))
    },
  }
}

function decode(topic: string, type: avro.Type, reader: Reader, value: Buffer): ReadEvent {
  if ('unreadable' in reader) return { kind: 'unreadable', detail: reader.unreadable }
  try {
    const read: { readonly value: Partial<SentEvent>; readonly offset: number } = type.decode(
      value,
      HEADER_BYTES,
      reader.resolver,
    )
    if (read.offset !== value.length) return { kind: 'unreadable', detail: 'its length is wrong' }
    return {
      kind: 'event',
      event: { ...NOTHING, ...(topic === DEAD_LETTER_TOPIC ? NOTICE : {}), ...read.value } as SentEvent,
    }
  } catch (error) {
    return { kind: 'unreadable', detail: error instanceof Error ? error.message.slice(0, 100) : 'it cannot be read' }
  }
}

const NOTHING = {
  ...{ merchant: null, outTradeNo: null, sequence: null, cause: null },
  ...{ amountMinor: null, currency: null, paymentRef: null },
}
const NOTICE = { kind: KIND_OF_NOTICE }
