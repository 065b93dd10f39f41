import { createRequire } from 'node:module'
import type { RawCluster } from './cluster-session.ts'
import { internalsOf } from './guards/internals.ts'

interface Encoder {
  readonly writeUVarIntBytes: () => Encoder
  readonly writeUVarIntArray: (of: readonly Encoder[]) => Encoder
  readonly writeUVarIntString: (text: string) => Encoder
  readonly writeBuffer: (bytes: Buffer) => Encoder
  readonly writeBoolean: (value: boolean) => Encoder
}
interface Decoder {
  readonly readTaggedFields: () => void
  readonly readInt16: () => number
  readonly readInt32: () => number
  readonly readBoolean: () => boolean
  readonly readUVarIntString: () => string | null
  readonly readUVarIntArray: <T>(read: (decoder: Decoder) => T) => T[] | null
  readonly readBytes: (length: number) => Buffer
}

const METADATA = 3
/** Kafka 3.1; the ids came in 2.8. */
const VERSION = 12
const ID_BYTES = 16
const UNKNOWN_TOPIC = 3
/** While a topic is being made its partitions have no leader; its id is there. */
const LEADER_NOT_AVAILABLE = 5

/**
 * The id that the cluster gave a topic when it was made: another one of the same name has another. kafkajs speaks
 * Metadata up to version 6, which knows no ids.
 * @returns by name; an empty id: this cluster has none; absent: there is no such topic
 */
export async function readTopicIds(cluster: RawCluster, topics: readonly string[]): Promise<Map<string, string>> {
  await cluster.refreshMetadata()
  const broker = await cluster.findControllerBroker()
  if ((broker.versions[METADATA]?.maxVersion ?? 0) < VERSION) return new Map(topics.map((topic) => [topic, '']))
  const connection = await broker.connectionPool.getConnection()
  const found = (await connection.send({
    request: { apiKey: METADATA, apiVersion: VERSION, apiName: 'Metadata', encode: () => encode(topics) },
    response: { decode, parse: (topicsFound: unknown) => topicsFound },
  })) as Found
  const ids = new Map<string, string>()
  for (const { name, error, id } of found.topics) {
    if (error === UNKNOWN_TOPIC || name === null) continue
    if (error !== 0 && error !== LEADER_NOT_AVAILABLE) throw new Error(`Kafka's error ${error} about ${name}`)
    ids.set(name, id.every((byte) => byte === 0) ? '' : id.toString('base64url'))
  }
  return ids
}

const internals = internalsOf(createRequire(import.meta.url))
const encoder = () => new (internals.load('src/protocol/encoder.js') as new () => Encoder)()

/** The first and the last byte of each part are its tagged fields, of which there are none. */
function encode(topics: readonly string[]): Promise<Encoder> {
  const named = topics.map((topic) =>
    encoder().writeBuffer(Buffer.alloc(ID_BYTES)).writeUVarIntString(topic).writeUVarIntBytes(),
  )
  // Neither made by asking, nor with what we may do with them.
  const asked = encoder().writeUVarIntBytes().writeUVarIntArray(named).writeBoolean(false).writeBoolean(false)
  return Promise.resolve(asked.writeUVarIntBytes())
}

interface Found {
  readonly topics: readonly { readonly name: string | null; readonly error: number; readonly id: Buffer }[]
}

function decode(raw: Buffer): Promise<Found> {
  const decoder = new (internals.load('src/protocol/decoder.js') as new (raw: Buffer) => Decoder)(raw)
  decoder.readTaggedFields()
  decoder.readInt32() // how long we are throttled
  decoder.readUVarIntArray(skipBroker)
  decoder.readUVarIntString() // the cluster's id
  decoder.readInt32() // the controller
  return Promise.resolve({ topics: decoder.readUVarIntArray(readTopic) ?? [] })
}

function skipBroker(decoder: Decoder): void {
  decoder.readInt32()
  decoder.readUVarIntString()
  decoder.readInt32()
  decoder.readUVarIntString()
  decoder.readTaggedFields()
}

function readTopic(decoder: Decoder) {
  const error = decoder.readInt16()
  const name = decoder.readUVarIntString()
  const id = decoder.readBytes(ID_BYTES)
  decoder.readBoolean()
  decoder.readUVarIntArray(skipPartition)
  decoder.readInt32()
  decoder.readTaggedFields()
  return { error, name, id }
}

function skipPartition(decoder: Decoder): void {
  decoder.readInt16()
  for (let each = 0; each < 3; each++) decoder.readInt32() // its number, leader, leader's epoch
  for (let each = 0; each < 3; each++) decoder.readUVarIntArray((of) => of.readInt32()) // replicas, in sync, offline
  decoder.readTaggedFields()
}
