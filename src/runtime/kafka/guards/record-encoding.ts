import type { Internals } from './internals.ts'

type Text = string | Buffer
export interface RecordFields {
  readonly offsetDelta?: number
  readonly timestampDelta?: number
  readonly key?: Text | null
  readonly value?: Text | null
  readonly headers?: Readonly<Record<string, Text | readonly Text[] | undefined>>
}
/** What kafkajs' Encoder takes for one of its own. */
export interface EncodedRecord {
  readonly buf: Buffer
  readonly buffer: Buffer
}

/** Varints of a record are below 2^31 after zig-zag: lengths and offset deltas, and timestamp deltas of 12 days. */
const zigZag = (value: number) => ((value << 1) ^ (value >> 31)) >>> 0

function varintBytes(value: number): number {
  const bits = zigZag(value)
  return bits < 0x80 ? 1 : bits < 0x4000 ? 2 : bits < 0x20_0000 ? 3 : bits < 0x1000_0000 ? 4 : 5
}

/** Headers' names are few and come with every record: each is encoded once. */
const names = new Map<string, Buffer>()
const NAMES_MAX = 1_000

function encodedName(name: string): Buffer {
  const known = names.get(name)
  if (known !== undefined) return known
  const length = Buffer.byteLength(name)
  const encoded = Buffer.alloc(varintBytes(length) + length)
  encoded.write(name, writeVarint(encoded, 0, length))
  if (names.size < NAMES_MAX) names.set(name, encoded)
  return encoded
}

function writeVarint(target: Buffer, at: number, value: number): number {
  let bits = zigZag(value)
  for (; bits >= 0x80; bits >>>= 7) target[at++] = (bits & 0x7f) | 0x80
  target[at++] = bits
  return at
}

function textBytes(text: Text | null | undefined): number {
  if (text == null) return 1
  const length = typeof text === 'string' ? Buffer.byteLength(text) : text.length
  return varintBytes(length) + length
}

function writeText(target: Buffer, at: number, text: Text | null | undefined): number {
  if (text == null) return writeVarint(target, at, -1)
  if (typeof text !== 'string') {
    const start = writeVarint(target, at, text.length)
    text.copy(target, start)
    return start + text.length
  }
  const length = Buffer.byteLength(text)
  const start = writeVarint(target, at, length)
  // As many bytes as UTF-16 units: it is ASCII, for which latin1 is the quicker way to the same bytes.
  return start + (length === text.length ? target.write(text, start, 'latin1') : target.write(text, start))
}

/**
 * A record of a batch (magic 2) in one buffer of its exact size. kafkajs allocates 512 zeroed bytes for the record, as
 * many for every header, and an array for every number.
 */
export function encodeRecord({ offsetDelta = 0, timestampDelta = 0, key, value, headers = {} }: RecordFields) {
  let count = 0
  let size = 1 + varintBytes(timestampDelta) + varintBytes(offsetDelta) + textBytes(key) + textBytes(value)
  for (const name in headers) {
    const header = headers[name]
    const all = Array.isArray(header) ? (header as readonly Text[]) : [header as Text]
    for (const each of all) {
      size += encodedName(name).length + textBytes(each)
      count++
    }
  }
  size += varintBytes(count)
  const record = Buffer.allocUnsafe(varintBytes(size) + size)
  let at = writeVarint(record, 0, size)
  record[at++] = 0
  at = writeVarint(record, at, timestampDelta)
  at = writeVarint(record, at, offsetDelta)
  at = writeText(record, at, key)
  at = writeText(record, at, value)
  at = writeVarint(record, at, count)
  for (const name in headers) {
    const header = headers[name]
    const all = Array.isArray(header) ? (header as readonly Text[]) : [header as Text]
    for (const each of all) {
      at += encodedName(name).copy(record, at)
      at = writeText(record, at, each)
    }
  }
  return { buf: record, buffer: record }
}

export function guardRecordEncoding(internals: Internals): void {
  internals.replace('src/protocol/recordBatch/record/v0/index.js', encodeRecord)
}
