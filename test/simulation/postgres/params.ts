/** What `store/bind.ts` wrote, read again. */
const EPOCH_MS = 946_684_800_000

const OIDS: Readonly<Record<number, (buffer: Buffer, at: number, length: number) => unknown>> = {
  17: (buffer, at, length) => buffer.subarray(at, at + length),
  20: (buffer, at) => buffer.readInt32BE(at) * 4_294_967_296 + buffer.readUInt32BE(at + 4),
  21: (buffer, at) => buffer.readInt16BE(at),
  23: (buffer, at) => buffer.readInt32BE(at),
  25: (buffer, at, length) => buffer.toString('utf8', at, at + length),
  1082: (buffer, at) => buffer.readInt32BE(at),
  1184: (buffer, at) => (buffer.readInt32BE(at) * 4_294_967_296 + buffer.readUInt32BE(at + 4)) / 1_000 + EPOCH_MS,
  2950: (buffer, at) => {
    const hex = buffer.toString('hex', at, at + 16)
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  },
}

/** An array parameter: in binary form, as labels, or as node-postgres takes it. */
export function list<T = unknown>(value: unknown): T[] {
  if (Array.isArray(value)) return value as T[]
  if (typeof value === 'string') {
    if (!value.startsWith('{') || !value.endsWith('}')) throw new Error(`no array: ${value}`)
    if (value === '{}') return []
    return value
      .slice(1, -1)
      .split(',')
      .map((label) => (label === 'NULL' ? null : label)) as T[]
  }
  if (!Buffer.isBuffer(value)) throw new Error(`no array: ${String(value)}`)
  if (value.readInt32BE(0) === 0) return []
  const read = OIDS[value.readInt32BE(8)]
  if (read === undefined) throw new Error(`an array of an unknown type: ${value.readInt32BE(8)}`)
  const length = value.readInt32BE(12)
  const result: unknown[] = []
  for (let index = 0, at = 20; index < length; index++) {
    const bytes = value.readInt32BE(at)
    at += 4
    if (bytes < 0) {
      result.push(null)
      continue
    }
    result.push(read(value, at, bytes))
    at += bytes
  }
  return result as T[]
}

/** The one value of `($1::int8[])[1]`. */
export const only = (value: unknown): unknown => {
  const [first] = list(value)
  if (first === undefined) throw new Error('an empty array where one value is due')
  return first
}
export const num = (value: unknown): number => Number(value)
export const text = (value: unknown): string => String(value)

/** Rows of `unnest($1::text[], …) with ordinality as e (topic, …, ord)`, as a statement's text names them. */
export type ReadRows = (values: readonly unknown[]) => Record<string, unknown>[]

/**
 * @param sql a part of a statement with one such `unnest`
 * @returns reads its rows out of the statement's parameters
 */
export function rowsIn(sql: string): ReadRows {
  const [match, ...others] = sql.matchAll(
    /unnest\(((?:\$\d+::[\w[\]]+(?:, )?)+)\) with ordinality as \w+ \(([^)]*), ord\)/g,
  )
  const [, given = '', named = ''] = match ?? []
  if (match === undefined || others.length > 0) throw new Error(`not one unnest: ${sql}`)
  const indices = [...given.matchAll(/\$(\d+)/g)].map(([, index]) => Number(index) - 1)
  const columns = named.split(', ')
  if (indices.length !== columns.length) throw new Error(`columns and arrays differ: ${sql}`)
  return (values) => {
    const arrays = indices.map((index) => list(values[index]))
    const rows: Record<string, unknown>[] = []
    for (let row = 0; row < (arrays[0]?.length ?? 0); row++) {
      const one: Record<string, unknown> = {}
      for (const [at, column] of columns.entries()) one[column] = arrays[at]?.[row]
      rows.push(one)
    }
    return rows
  }
}
