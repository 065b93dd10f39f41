import type pg from 'pg'
import type { OffsetReader } from '../runtime/kafka/port.ts'
import {
  eventOf,
  ForeignRecord,
  lastEvent,
  readOutput,
  tailFrom,
  wholeRange,
  type OutputRange,
  type OutputReaders,
} from '../schemas/output-log.ts'
import type { OutputMarks } from '../schemas/output-marks.ts'
import { OUTPUT_TOPICS } from '../schemas/topics.ts'
import type { Tail } from '../store/judge-rebuild.ts'
import type { LaneRow } from '../store/lane-row.ts'
import { eventAt, lastBelow, type ImportedEvent } from '../store/rebuild-lane.ts'

/** What the output topics are now, and where they end. */
export async function marksNow(offsets: OffsetReader, readers: OutputReaders, lane: number): Promise<OutputMarks> {
  const ids = await offsets.topicIds(OUTPUT_TOPICS.map((topic) => readers.topicPrefix + topic))
  const ranges = await rangesOf(offsets, readers, lane)
  return new Map(ranges.map(({ topic, end }) => [topic, { id: ids.get(readers.topicPrefix + topic) ?? '', end }]))
}

/** To their very ends: what an open transaction hides may be out. The fence has ended the lane's own. */
export const rangesOf = (offsets: OffsetReader, readers: OutputReaders, lane: number): Promise<OutputRange[]> =>
  Promise.all(
    OUTPUT_TOPICS.map((topic) =>
      wholeRange(readers, async () => ({
        topic,
        lane,
        ...(await offsets.logRange(readers.topicPrefix + topic, lane)),
      })),
    ),
  )

export async function readTails(
  pool: pg.Pool,
  readers: OutputReaders,
  ranges: readonly OutputRange[],
  row: LaneRow,
): Promise<Tail[]> {
  const held = await lastBelow(pool, row.lane, row.settledSeq)
  const tails: Tail[] = []
  for (const range of ranges) {
    const { topic, start, end } = range
    const last = await lastEvent(readers, range)
    const known = last && (await eventAt(pool, row.lane, last.laneSeq))
    // A number that is forged would make events pass for out that are not.
    if (known !== undefined && (known.eventId !== last?.eventId || known.topic !== topic))
      throw new ForeignRecord(
        `${topic} partition ${row.lane} has number ${last?.laneSeq ?? ''} as ${last?.eventId ?? ''}, Postgres as ${known.eventId} of ${known.topic}`,
      )
    tails.push({ topic, start, end, last: last?.laneSeq, held: held.get(topic) })
  }
  return tails
}

export async function* eventsBetween(
  readers: OutputReaders,
  ranges: readonly OutputRange[],
  from: number,
  below: number,
): AsyncGenerator<readonly ImportedEvent[]> {
  for (const range of ranges)
    for await (const page of readOutput(readers, await tailFrom(readers, range, from)))
      yield page.map((record) => eventOf(record, range)).filter(({ laneSeq }) => laneSeq >= from && laneSeq < below)
}
