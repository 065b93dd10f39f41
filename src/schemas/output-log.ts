import { setTimeout as delay } from 'node:timers/promises'
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

/** What is asked for cannot be seen by anybody: a transaction before it is open, or the log gives nothing. */
export class HiddenRecords extends Error {
  override readonly name = 'HiddenRecords'
}

/** A record that no lane can have written: the partition's one writer was not alone. */
export class ForeignRecord extends Error {
  override readonly name = 'ForeignRecord'
}

/** A leader that was just elected may not know at first how far its log is committed, and then gives less. */
const PATIENCE_MS = 20_000
const AGAIN_MS = 100

/**
 * The committed records of a range, in order, a page (about 1 MiB) at a time: all of them.
 * @throws HiddenRecords if the log does not give them
 */
export async function* readOutput(
  { partitions, events, topicPrefix }: OutputReaders,
  { topic, lane, start, end }: OutputRange,
  patienceMs = PATIENCE_MS,
): AsyncGenerator<readonly OutputRecord[]> {
  let movedMs = performance.now()
  for (let at = start; at < end;) {
    const { records, next } = await partitions.read(topicPrefix + topic, lane, at)
    if (next === at) {
      if (performance.now() - movedMs > patienceMs)
        throw new HiddenRecords(
          `${topicPrefix}${topic} partition ${lane} gives nothing from offset ${at} on, and had an end at ${end}`,
        )
      await delay(AGAIN_MS)
      continue
    }
    movedMs = performance.now()
    const within = records.filter(({ offset }) => offset < end)
    const page: OutputRecord[] = []
    for (const { offset, timestampMs, value } of within) {
      const read = events.read(topic, value)
      // A promise only for a schema that is met for the first time.
      page.push({ offset, timestampMs, read: read instanceof Promise ? await read : read })
    }
    if (page.length > 0) yield page
    at = next
  }
}

/** @returns the offset that must be readable before all is seen that was in the log at this moment */
export async function endOfAll(
  { partitions, topicPrefix }: OutputReaders,
  { topic, lane, end }: OutputRange,
): Promise<number> {
  const { next, highWatermark } = await partitions.read(topicPrefix + topic, lane, end)
  return Math.max(next, highWatermark)
}

const HIDDEN_MS_MAX = 10_000

/**
 * A log's range once nothing in it is hidden behind an open transaction. Nobody may write to it meanwhile.
 * @param rangeNow asked again and again
 * @throws HiddenRecords the transaction does not end
 */
export async function wholeRange(
  readers: OutputReaders,
  rangeNow: () => Promise<OutputRange>,
  patienceMs = HIDDEN_MS_MAX,
): Promise<OutputRange> {
  const startedMs = performance.now()
  for (;;) {
    const range = await rangeNow()
    if ((await endOfAll(readers, range)) <= range.end) return range
    if (performance.now() - startedMs > patienceMs) throw new HiddenRecords(hiddenBehind(readers, range))
    await delay(AGAIN_MS)
  }
}

export const hiddenBehind = ({ topicPrefix }: OutputReaders, { topic, lane, end }: OutputRange) =>
  `a transaction is open in ${topicPrefix}${topic} partition ${lane} from offset ${end} on, and nobody can read what is behind it`

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

/**
 * @returns of the range's end the event with the highest number, as a copy of an older one may stand behind it;
 *   undefined: it holds none. @throws ForeignRecord if its last record is no event of the lane
 */
export async function lastEvent(readers: OutputReaders, range: OutputRange): Promise<SentEvent | undefined> {
  let last: OutputRecord | undefined
  let highest: SentEvent | undefined
  for await (const page of readOutput(readers, await tailFrom(readers, range, Number.MAX_SAFE_INTEGER)))
    for (const record of page) {
      last = record
      const { read } = record
      if (read.kind === 'event' && read.event.lane === range.lane && read.event.laneSeq >= (highest?.laneSeq ?? 0))
        highest = read.event
    }
  if (last !== undefined) eventOf(last, range)
  return highest
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** @throws ForeignRecord */
export function eventOf({ offset, read }: OutputRecord, { topic, lane }: OutputRange): SentEvent {
  if (read.kind === 'event' && read.event.lane === lane && UUID.test(read.event.eventId)) return read.event
  const why =
    read.kind !== 'event'
      ? read.detail
      : read.event.lane === lane
        ? 'its id is no UUID'
        : `it says lane ${read.event.lane}`
  throw new ForeignRecord(`${topic} partition ${lane} offset ${offset} is no event of this lane: ${why}`)
}
