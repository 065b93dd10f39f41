import type { SchemaRegistry } from '@kafkajs/confluent-schema-registry'
import type { RawAvroSchema } from '@kafkajs/confluent-schema-registry/dist/@types.js'
import avro from 'avsc'
import type { Log } from '../runtime/log.ts'
import { boundedCollections } from './bounded-types.ts'
import type { Callback } from './callback.ts'
import { badField } from './check-callback.ts'
import { SCHEMAS, subjectOf } from './definitions.ts'
import { connectRegistry, isNotFound, SchemaNotRegistered, unavailable } from './registry.ts'
import { fetchType, readerOf, type Reader } from './schema-reader.ts'
import { INPUT_TOPIC } from './topics.ts'

export type Decoded =
  | { readonly kind: 'callback'; readonly callback: Callback }
  | { readonly kind: 'undecodable'; readonly detail: string }
  | { readonly kind: 'unknown_schema'; readonly schemaId: number }

export interface Codec {
  /**
   * The record's value in Confluent's wire form, by the schema that this version of the code brings. Synchronous: ids
   * and types were loaded at start. The topic is without the installation's prefix.
   * @throws a programming error: an unknown topic, or a value that does not fit the schema.
   */
  readonly encode: (topic: string, value: object) => Buffer
  /** Never throws. `unknown_schema`: call `load`, then decode again. */
  readonly decodeCallback: (value: Buffer | null) => Decoded
  /**
   * Fetches a writer's schema. An id that the registry denies is asked for again after 30 s at the earliest.
   * @throws RegistryUnavailable the registry is away: wait and call again; nothing was learnt about the id.
   */
  readonly load: (schemaId: number) => Promise<'loaded' | 'unknown'>
}

const MAGIC_BYTE = 0
const HEADER_BYTES = 5
const NEGATIVE_CACHE_MS = 30_000
const NEGATIVE_CACHE_SIZE_MAX = 1_000

interface Written {
  readonly schemaId: number
  readonly type: avro.Type
}

/**
 * Connects to the registry and loads what writing and reading need.
 * @throws RegistryUnavailable it does not answer: try again later.
 * @throws SchemaNotRegistered it answers, but a subject lacks this version's schema.
 */
export async function createCodec(
  registryUrl: string,
  topicPrefix: string,
  log: Log,
  elapsedMs: () => number = () => performance.now(),
): Promise<Codec> {
  const registry = connectRegistry(registryUrl)
  const written = new Map<string, Written>()
  for (const [topic, schema] of Object.entries(SCHEMAS)) {
    const type = avro.Type.forSchema(schema, { typeHook: boundedCollections })
    written.set(topic, { type, schemaId: await idOf(registry, subjectOf(topicPrefix, topic), schema) })
  }
  const input = writtenTo(written, INPUT_TOPIC)
  const readers = new Map<number, Reader>([[input.schemaId, { resolver: undefined }]])
  const deniedAtMs = new Map<number, number>()
  let scratch = Buffer.allocUnsafe(256 * 1_024)

  return {
    encode: (topic, value) => {
      const { type, schemaId } = writtenTo(written, topic)
      let end = type.encode(value, scratch, HEADER_BYTES)
      if (end < 0) {
        // Minus the number of bytes that are missing.
        scratch = Buffer.allocUnsafe(scratch.length - end + 1_024)
        end = type.encode(value, scratch, HEADER_BYTES)
      }
      scratch[0] = MAGIC_BYTE
      scratch.writeUInt32BE(schemaId, 1)
      return Buffer.from(scratch.subarray(0, end))
    },
    decodeCallback: (value) => {
      if (value === null) return { kind: 'undecodable', detail: 'the record has no value' }
      if (value.length <= HEADER_BYTES) return { kind: 'undecodable', detail: `${value.length} bytes are too few` }
      if (value[0] !== MAGIC_BYTE) return { kind: 'undecodable', detail: `first byte ${value[0]} instead of 0` }
      const schemaId = value.readUInt32BE(1)
      const reader = readers.get(schemaId)
      if (reader === undefined) return { kind: 'unknown_schema', schemaId }
      if ('unreadable' in reader) return { kind: 'undecodable', detail: reader.unreadable }
      return decode(input.type, reader.resolver, value)
    },
    load: async (schemaId) => {
      if (readers.has(schemaId)) return 'loaded'
      const deniedAt = deniedAtMs.get(schemaId)
      if (deniedAt !== undefined && elapsedMs() - deniedAt < NEGATIVE_CACHE_MS) return 'unknown'
      const type = await fetchType(registry, schemaId, subjectOf(topicPrefix, INPUT_TOPIC))
      if (type === undefined) {
        if (deniedAtMs.size >= NEGATIVE_CACHE_SIZE_MAX) deniedAtMs.clear()
        deniedAtMs.set(schemaId, elapsedMs())
        log.warn({ schemaId }, 'the registry does not know this schema id')
        return 'unknown'
      }
      deniedAtMs.delete(schemaId)
      const reader = readerOf(input.type, type, schemaId, 'callback')
      readers.set(schemaId, reader)
      log.info({ schemaId, readable: !('unreadable' in reader) }, 'schema loaded')
      return 'loaded'
    },
  }
}

function writtenTo(written: ReadonlyMap<string, Written>, topic: string): Written {
  const found = written.get(topic)
  if (found === undefined) throw new Error(`no schema for topic ${topic}`)
  return found
}

async function idOf(registry: SchemaRegistry, subject: string, schema: RawAvroSchema) {
  try {
    return await registry.getRegistryIdBySchema(subject, schema)
  } catch (error) {
    if (!isNotFound(error)) throw unavailable(`looking up ${subject}`, error)
    throw new SchemaNotRegistered(`${subject} lacks this version's schema: run "paidonce schemas register"`)
  }
}

function decode(type: avro.Type, resolver: avro.Resolver | undefined, value: Buffer): Decoded {
  let read: { readonly value: Callback; readonly offset: number }
  try {
    read = type.decode(value, HEADER_BYTES, resolver)
  } catch (error) {
    // Mostly a long above 2^53. The library's text may hold data, so its length is limited.
    return { kind: 'undecodable', detail: error instanceof Error ? error.message.slice(0, 100) : 'unreadable' }
  }
  if (read.offset < 0) return { kind: 'undecodable', detail: 'the value ends too early' }
  if (read.offset < value.length) return { kind: 'undecodable', detail: `${value.length - read.offset} bytes too many` }
  const field = badField(read.value)
  if (field !== undefined) return { kind: 'undecodable', detail: `bad ${field}` }
  return { kind: 'callback', callback: read.value }
}
