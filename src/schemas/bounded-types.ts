import avro from 'avsc'

/** The part of avsc's reader that is needed here; it is not in the package's types. */
interface Tap {
  readonly buf: Buffer
  readonly pos: number
  readLong(): number
  skipLong(): void
  readString(): string
  _invalidate(): void
}
interface Readable {
  _read(tap: Tap): unknown
}

/** One block's item count; a count that the remaining bytes cannot hold ends the reading as "truncated". */
function readCount(tap: Tap): number {
  let count = tap.readLong()
  if (count < 0) {
    count = -count
    tap.skipLong()
  }
  // Every item of our schemas takes at least one byte.
  if (count <= tap.buf.length - tap.pos) return count
  tap._invalidate()
  return 0
}

/** Also called with a resolver as `this`: avsc copies `_read` onto it. */
function readItems(this: object, tap: Tap): unknown[] {
  const { itemsType } = this as { itemsType: Readable }
  const items: unknown[] = []
  for (let count = readCount(tap); count > 0; count = readCount(tap))
    while (count-- > 0) items.push(itemsType._read(tap))
  return items
}

function readEntries(this: object, tap: Tap): Record<string, unknown> {
  const { valuesType } = this as { valuesType: Readable }
  const values: Record<string, unknown> = {}
  for (let count = readCount(tap); count > 0; count = readCount(tap))
    while (count-- > 0) {
      const key = tap.readString()
      values[key] = valuesType._read(tap)
    }
  return values
}

class BoundedArray extends avro.types.ArrayType {
  _read(tap: Tap): unknown[] {
    return readItems.call(this, tap)
  }
  _skip(tap: Tap): void {
    readItems.call(this, tap)
  }
}

class BoundedMap extends avro.types.MapType {
  _read(tap: Tap): Record<string, unknown> {
    return readEntries.call(this, tap)
  }
  _skip(tap: Tap): void {
    readEntries.call(this, tap)
  }
}

/**
 * A type hook for avsc whose arrays and maps cannot be longer than the record. The library's own loop as often as a
 * count in the record says: seven bytes are enough to keep it busy for minutes or to exhaust the memory.
 */
export function boundedCollections(schema: avro.Schema, options: avro.ForSchemaOptions): avro.Type | undefined {
  if (typeof schema !== 'object' || !('type' in schema)) return undefined
  if (schema.type === 'array') return new BoundedArray(schema, options)
  if (schema.type === 'map') return new BoundedMap(schema, options)
  return undefined
}
