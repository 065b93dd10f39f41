import type { Callback } from '../../../src/schemas/callback.ts'
import type { Codec } from '../../../src/schemas/codec.ts'

/** What the values of records mean; the bytes are only their names. */
export interface SimulatedCodec {
  readonly codec: Pick<Codec, 'encode' | 'decodeCallback' | 'load'>
  readonly read: (value: Buffer | null) => object | undefined
}

export function createSimulatedCodec(): SimulatedCodec {
  const values = new WeakMap<Buffer, object>()
  const read = (value: Buffer | null) => (value === null ? undefined : values.get(value))
  let count = 0
  return {
    read,
    codec: {
      encode: (topic, value) => {
        const bytes = Buffer.from(`${topic} ${++count}`)
        values.set(bytes, value)
        return bytes
      },
      decodeCallback: (value) => {
        const found = read(value)
        return found === undefined
          ? { kind: 'undecodable', detail: 'no callback' }
          : { kind: 'callback', callback: found as Callback }
      },
      load: () => Promise.resolve('unknown'),
    },
  }
}
