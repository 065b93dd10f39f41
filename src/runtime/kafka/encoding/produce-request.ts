import { crc32c } from './crc32c.ts'
import { recordBodyBytes, varintBytes, writeRecord, type RecordFields } from './record.ts'

export interface ProduceRequest {
  readonly acks: number
  readonly timeout: number
  readonly transactionalId?: string | null
  readonly producerId?: unknown
  readonly producerEpoch?: number
  readonly topicData: readonly {
    readonly topic: string
    readonly partitions: readonly {
      readonly partition: number
      readonly firstSequence?: number
      readonly messages: readonly RecordFields[]
    }[]
  }[]
}

const HEADER_BYTES = 61
const CRC_AT = 17
const CHECKED_FROM = 21
const TRANSACTIONAL = 0x10

/** The body of Produce v3 to v7 (Kafka's protocol guide; record batches of magic 2, uncompressed) in one buffer. */
export function encodeProduce(request: ProduceRequest, nowMs: number): Buffer {
  const { acks, timeout, transactionalId = null, topicData } = request
  const batches = topicData.map(({ partitions }) => partitions.map(({ messages }) => measure(messages)))
  let size = 2 + (transactionalId === null ? 0 : Buffer.byteLength(transactionalId)) + 2 + 4 + 4
  for (const [t, { topic }] of topicData.entries()) {
    size += 2 + Buffer.byteLength(topic) + 4
    for (const batch of batches[t] ?? []) size += 8 + batch.bytes
  }
  const target = Buffer.allocUnsafe(size)
  let at = writeString(target, 0, transactionalId)
  at = target.writeInt16BE(acks, at)
  at = target.writeInt32BE(timeout, at)
  at = target.writeInt32BE(topicData.length, at)
  for (const [t, { topic, partitions }] of topicData.entries()) {
    at = writeString(target, at, topic)
    at = target.writeInt32BE(partitions.length, at)
    for (const [p, { partition, messages, firstSequence = 0 }] of partitions.entries()) {
      const batch = batches[t]?.[p]
      if (batch === undefined) throw new Error('every partition was measured')
      at = target.writeInt32BE(partition, at)
      at = target.writeInt32BE(batch.bytes, at)
      at = writeBatch(target.subarray(at, at + batch.bytes), messages, batch, request, firstSequence, nowMs) + at
    }
  }
  return target
}

interface Measured {
  readonly bytes: number
  readonly bodies: readonly number[]
}

function measure(messages: readonly RecordFields[]): Measured {
  const bodies = messages.map(recordBodyBytes)
  return { bodies, bytes: bodies.reduce((sum, body) => sum + varintBytes(body) + body, HEADER_BYTES) }
}

/** @param target exactly the batch's bytes */
function writeBatch(
  target: Buffer,
  messages: readonly RecordFields[],
  { bodies }: Measured,
  { transactionalId, producerId = -1, producerEpoch = 0 }: ProduceRequest,
  firstSequence: number,
  nowMs: number,
): number {
  let at = target.writeBigInt64BE(0n, 0)
  at = target.writeInt32BE(target.length - 12, at)
  at = target.writeInt32BE(0, at) // leader epoch: the broker's to fill in
  at = target.writeInt8(2, at)
  at = target.writeInt16BE(transactionalId ? TRANSACTIONAL : 0, at + 4)
  at = target.writeInt32BE(messages.length - 1, at)
  at = target.writeBigInt64BE(BigInt(nowMs), at)
  at = target.writeBigInt64BE(BigInt(nowMs), at)
  at = target.writeBigInt64BE(BigInt(String(producerId)), at)
  at = target.writeInt16BE(producerEpoch, at)
  at = target.writeInt32BE(firstSequence, at)
  at = target.writeInt32BE(messages.length, at)
  for (const [i, message] of messages.entries()) at = writeRecord(target, at, bodies[i] ?? 0, message, i)
  if (at !== target.length) throw new Error(`A batch of ${target.length} bytes was written with ${at}`)
  target.writeUInt32BE(crc32c(target, CHECKED_FROM), CRC_AT)
  return at
}

function writeString(target: Buffer, at: number, text: string | null): number {
  if (text === null) return target.writeInt16BE(-1, at)
  const start = target.writeInt16BE(Buffer.byteLength(text), at)
  return start + target.write(text, start)
}
