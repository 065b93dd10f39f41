type Text = string | Buffer
export interface RecordFields {
  readonly key?: Text | null
  readonly value?: Text | null
  readonly headers?: Readonly<Record<string, Text | readonly Text[] | undefined>>
}

/** Varints here are lengths and deltas, far below 2^30. */
const zigZag = (value: number) => ((value << 1) ^ (value >> 31)) >>> 0

export function varintBytes(value: number): number {
  const bits = zigZag(value)
  return bits < 0x80 ? 1 : bits < 0x4000 ? 2 : bits < 0x20_0000 ? 3 : bits < 0x1000_0000 ? 4 : 5
}

export function writeVarint(target: Buffer, at: number, value: number): number {
  let bits = zigZag(value)
  for (; bits >= 0x80; bits >>>= 7) target[at++] = (bits & 0x7f) | 0x80
  target[at++] = bits
  return at
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

const valuesOf = (header: Text | readonly Text[] | undefined) =>
  Array.isArray(header) ? (header as readonly Text[]) : [header as Text]

/** Bytes of a record's body: what follows its own length. Timestamps are the batch's, so their delta is 0. */
export function recordBodyBytes({ key, value, headers }: RecordFields, offsetDelta: number): number {
  let count = 0
  let size = 2 + varintBytes(offsetDelta) + textBytes(key) + textBytes(value)
  for (const name in headers)
    for (const each of valuesOf(headers[name])) {
      size += encodedName(name).length + textBytes(each)
      count++
    }
  return size + varintBytes(count)
}

/** Writes a record of a batch (magic 2) with its length. @returns the position behind it */
export function writeRecord(
  target: Buffer,
  at: number,
  bodyBytes: number,
  { key, value, headers }: RecordFields,
  offsetDelta: number,
): number {
  at = writeVarint(target, at, bodyBytes)
  target[at++] = 0
  target[at++] = 0
  at = writeVarint(target, at, offsetDelta)
  at = writeText(target, at, key)
  at = writeText(target, at, value)
  let count = 0
  for (const name in headers) count += valuesOf(headers[name]).length
  at = writeVarint(target, at, count)
  for (const name in headers)
    for (const each of valuesOf(headers[name])) {
      at += encodedName(name).copy(target, at)
      at = writeText(target, at, each)
    }
  return at
}
