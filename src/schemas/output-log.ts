import type { PartitionReader } from '../runtime/kafka/port.ts'
import type { EventReader, ReadEvent, SentEvent } from './event-reader.ts'

export interface OutputReaders {
  readonly partitions: PartitionReader
  readonly events: EventReader
  readonly topicPrefix: string
}

/** One partition of an output topic, and the part of its log that is meant. */
export interface OutputRange {
  /** Without the installation's prefix. */
  readonly topic: string
  readonly lane: number
  readonly start: number
  readonly end: number
}

/** A committed record of an output topic. */
export interface OutputRecord {
  readonly offset: number
  readonly timestampMs: number
  readonly read: ReadEvent
}

/** A record that no lane can have written: the partition's one writer was not alone. */
export class ForeignRecord extends Error {
  override readonly name = 'ForeignRecord'
}

/** The committed records of a range, in order, a page (about 1 MiB) at a time. */
export async function* readOutput(
  { partitions, events, topicPrefix }: OutputReaders,
  { topic, lane, start, end }: OutputRange,
): AsyncGenerator<readonly OutputRecord[]> {
  for (let at = start; at < end;) {
    const { records, next } = await partitions.read(topicPrefix + topic, lane, at)
    const within = records.filter(({ offset }) => offset < end)
    const page: OutputRecord[] = []
    for (const { offset, timestampMs, value } of within) {
      const read = events.read(topic, value)
      // A promise only for a schema that is met for the first time.
      page.push({ offset, timestampMs, read: read instanceof Promise ? await read : read })
    }
    if (page.length > 0) yield page
    if (next === at) return
    at = next
  }
}

const BACK_RECORDS = 2_000
const BACK_FACTOR = 4

/**
 * The end of a range that holds all events from a number on: a lane's numbers rise with the offsets, so it is looked
 * for backwards. At least one event, if the range has any. A foreign record can lead the look astray.
 */
export async function tailFrom(readers: OutputReaders, range: OutputRange, laneSeq: number): Promise<OutputRange> {
  for (let back = BACK_RECORDS; ; back *= BACK_FACTOR) {
    const tail = { ...range, start: Math.max(range.start, range.end - back) }
    if (tail.start === range.start) return tail
    for await (const page of readOutput(readers, tail)) {
      const [first] = page.flatMap(({ read }) => (read.kind === 'event' ? [read.event] : []))
      if (first !== undefined && first.laneSeq <= laneSeq) return tail
      break
    }
  }
}

/** @returns the range's last event; undefined: it holds none. @throws ForeignRecord */
export async function lastEvent(readers: OutputReaders, range: OutputRange): Promise<SentEvent | undefined> {
  let last: OutputRecord | undefined
  for await (const page of readOutput(readers, await tailFrom(readers, range, Number.MAX_SAFE_INTEGER)))
    last = page.at(-1)
  return last && eventOf(last, range)
}

/** @throws ForeignRecord */
export function eventOf({ offset, read }: OutputRecord, { topic, lane }: OutputRange): SentEvent {
  if (read.kind === 'event' && read.event.lane === lane) return read.event
  const why = read.kind === 'event' ? `it says lane ${read.event.lane}` : read.detail
  throw new ForeignRecord(`${topic} partition ${lane} offset ${offset} is no event of this lane: ${why}`)
}
