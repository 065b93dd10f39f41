/**
 * Array parameters in Postgres' binary form, which node-postgres sends as they are: at 1,000 rows a column costs about a
 * tenth of printing it as `{…}` and of parsing it there.
 *
 * Layout, big endian: dimensions int32, has-null int32, element type's OID int32, then (unless empty) length int32 and
 * lower bound int32; then per element its length in bytes, -1 for null, and its bytes.
 */
const HEAD_BYTES = 20
const OID = { bytea: 17, int8: 20, int2: 21, int4: 23, text: 25, date: 1082, timestamptz: 1184, uuid: 2950 } as const
const DAY_MS = 86_400_000
/** Postgres counts from 2000-01-01. */
const EPOCH_MS = 946_684_800_000

/** What does not fit into its type; Postgres would have said the same, so it carries the same code. */
export class OutOfRange extends RangeError {
  override readonly name = 'OutOfRange'
  readonly severity = 'ERROR'
  readonly code = '22003'
}

function head(buffer: Buffer, oid: number, length: number): number {
  buffer.writeInt32BE(length === 0 ? 0 : 1, 0)
  buffer.writeInt32BE(1, 4)
  buffer.writeInt32BE(oid, 8)
  if (length === 0) return 12
  buffer.writeInt32BE(length, 12)
  buffer.writeInt32BE(1, 16)
  return HEAD_BYTES
}

const fixedWidth =
  <T>(oid: number, width: number, put: (buffer: Buffer, value: T, at: number) => void) =>
  (values: readonly (T | null)[]): Buffer => {
    const buffer = Buffer.allocUnsafe(HEAD_BYTES + values.length * (4 + width))
    let at = head(buffer, oid, values.length)
    for (const value of values) {
      if (value === null) {
        buffer.writeInt32BE(-1, at)
        at += 4
        continue
      }
      buffer.writeInt32BE(width, at)
      put(buffer, value, at + 4)
      at += 4 + width
    }
    return buffer.subarray(0, at)
  }

/** Two halves, as BigInt costs three times as much. Right for every safe integer, negative ones too. */
function putInt64(buffer: Buffer, value: number, at: number) {
  if (!Number.isSafeInteger(value)) throw new OutOfRange(`${value} is no safe integer`)
  const high = Math.floor(value / 4_294_967_296)
  buffer.writeInt32BE(high, at)
  buffer.writeUInt32BE(value - high * 4_294_967_296, at + 4)
}

function putInt32(buffer: Buffer, value: number, at: number) {
  if ((value | 0) !== value) throw new OutOfRange(`${value} is no int4`)
  buffer.writeInt32BE(value, at)
}
function putInt16(buffer: Buffer, value: number, at: number) {
  if ((value << 16) >> 16 !== value) throw new OutOfRange(`${value} is no int2`)
  buffer.writeInt16BE(value, at)
}

export const int2s = fixedWidth(OID.int2, 2, putInt16)
export const int4s = fixedWidth(OID.int4, 4, putInt32)
export const int8s = fixedWidth(OID.int8, 8, putInt64)
/** Microseconds beyond the year 2285 pass 2^53: rare enough for BigInt. */
function putTimestamp(buffer: Buffer, ms: number, at: number) {
  const sinceEpochMs = ms - EPOCH_MS
  if (Math.abs(sinceEpochMs) < 9e12) putInt64(buffer, sinceEpochMs * 1_000, at)
  else if (Number.isInteger(ms) && Math.abs(sinceEpochMs) < 9e15)
    buffer.writeBigInt64BE(BigInt(sinceEpochMs) * 1_000n, at)
  else throw new OutOfRange(`${ms} is no time`)
}
/** @param values milliseconds since 1970 */
export const timestamps = fixedWidth(OID.timestamptz, 8, putTimestamp)
/** @param values milliseconds since 1970; their UTC day */
export const days = fixedWidth<number>(OID.date, 4, (buffer, ms, at) =>
  putInt32(buffer, Math.floor((ms - EPOCH_MS) / DAY_MS), at),
)
/** @param values in the form 8-4-4-4-12 */
export const uuids = fixedWidth<string>(OID.uuid, 16, (buffer, value, at) => {
  if (buffer.write(value.replaceAll('-', ''), at, 'hex') !== 16) throw new OutOfRange(`${value} is no UUID`)
})

export function texts(values: readonly (string | null)[]): Buffer {
  let size = HEAD_BYTES
  for (const value of values) size += 4 + (value === null ? 0 : value.length * 3)
  const buffer = Buffer.allocUnsafe(size)
  let at = head(buffer, OID.text, values.length)
  for (const value of values) {
    const bytes = value === null ? -1 : buffer.write(value, at + 4)
    buffer.writeInt32BE(bytes, at)
    at += 4 + Math.max(bytes, 0)
  }
  return buffer.subarray(0, at)
}

export function byteas(values: readonly (Buffer | null)[]): Buffer {
  const size = values.reduce((sum, value) => sum + 4 + (value?.length ?? 0), HEAD_BYTES)
  const buffer = Buffer.allocUnsafe(size)
  let at = head(buffer, OID.bytea, values.length)
  for (const value of values) {
    buffer.writeInt32BE(value === null ? -1 : value.length, at)
    at += 4
    if (value !== null) at += value.copy(buffer, at)
  }
  return buffer.subarray(0, at)
}

/** An array of enum labels in text form: an enum's OID differs from database to database. Labels need no quotes. */
export const labels = (values: readonly (string | null)[]): string => `{${values.map((v) => v ?? 'NULL').join(',')}}`
