import type { OutgoingMessage } from './port.ts'

/** The broker refuses a batch above `message.max.bytes`, 1 MiB by default. */
export const CALL_BYTES_MAX = 700_000
/** What a record costs besides its contents: lengths, attributes and deltas as varints, rounded up. */
const RECORD_OVERHEAD_BYTES = 32

export function messageBytes({ key, value, headers }: OutgoingMessage): number {
  let bytes = RECORD_OVERHEAD_BYTES + (key === null ? 0 : Buffer.byteLength(key)) + value.length
  for (const name in headers) bytes += 8 + Buffer.byteLength(name) + Buffer.byteLength(headers[name] ?? '')
  return bytes
}

/** Cuts into runs of at most `bytesMax`, in order; a message larger than that is a run of its own. */
export function splitMessages(messages: readonly OutgoingMessage[], bytesMax = CALL_BYTES_MAX) {
  const runs: OutgoingMessage[][] = []
  let bytes = Infinity
  for (const message of messages) {
    const size = messageBytes(message)
    const run = runs.at(-1)
    if (run === undefined || bytes + size > bytesMax) {
      runs.push([message])
      bytes = size
    } else {
      run.push(message)
      bytes += size
    }
  }
  return runs
}
