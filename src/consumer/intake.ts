import type pg from 'pg'
import type { CommittingConsumer } from '../runtime/kafka/input-consumer.ts'
import type { BatchControl, InputBatch, InputHandlers } from '../runtime/kafka/port.ts'
import { describeError, type Log } from '../runtime/log.ts'
import type { Owner } from './change-row.ts'
import { releaseLanes } from './claim-lane.ts'
import type { Reach } from './crash-points.ts'
import type { ConsumerMetrics } from './metrics.ts'
import type { LaneOpener } from './open-lane.ts'
import { countOpen } from './open-row.ts'
import type { BatchReader } from './read-batch.ts'
import { takeIn, type TakenRecord } from './take-in.ts'
import { tooManyUnreadable } from './too-many-unreadable.ts'

export interface IntakeParts {
  readonly pool: pg.Pool
  readonly owner: Owner
  readonly run: string
  readonly kafka: CommittingConsumer
  readonly opener: LaneOpener
  readonly reader: BatchReader
  /** A lane with so many events that are not settled takes no more in: what waits is bounded. */
  readonly openMax: number
  /** Effects at a third party, which a restored backup does not take back. */
  readonly isOutside: (kind: string) => boolean
  readonly onTaken: () => void
  readonly onCrash: (error: Error) => void
  readonly metrics: ConsumerMetrics
  readonly log: Log
  readonly reach: Reach
}

export interface Intake {
  readonly handlers: InputHandlers
  readonly lanes: () => readonly number[]
  /** Those of which is known where Postgres stands: only their events may be worked on. */
  readonly ready: () => readonly number[]
  /** Lanes that wait for a person, and why. */
  readonly stopped: () => ReadonlyMap<number, string>
  /** Ends what goes on in the background. */
  readonly close: () => void
}

const FULL_MS = 500
const TROUBLE_MS = 1_000
/** A lane that waits for a person is looked at again. */
const STOPPED_MS = 10_000

/** From the topic into the inbox: where it reads on is Postgres' word, never the group's offset. */
export function createIntake(parts: IntakeParts): Intake {
  const { pool, owner, run, kafka, opener, metrics, log } = parts
  const { consumer, topic } = owner
  let lanes: readonly number[] = []
  let join = 0
  const stopped = new Map<number, string>()
  const saidOf = new Map<number, string>()
  /** Below it each lane's records were taken in before, also where Postgres does not know it. */
  const knownTo = new Map<number, number>()
  const ready = new Set<number>()

  const stopLane = (lane: number, reason: string) => {
    kafka.pause(lane)
    stopped.set(lane, reason)
    metrics.stopped.set({ consumer }, stopped.size)
    if (saidOf.get(lane) !== reason) log.error({ lane, reason }, 'a lane stops until a person has looked')
    saidOf.set(lane, reason)
    const ofJoin = join
    setTimeout(() => void prepare(lane, ofJoin), STOPPED_MS).unref()
  }
  /** Finds where to read on and lets the lane go; tries until it can, or the lane is another's. */
  const prepare = async (lane: number, ofJoin: number): Promise<void> => {
    for (; ofJoin === join; await new Promise((resolve) => setTimeout(resolve, TROUBLE_MS)))
      try {
        const found = await opener.open(lane, () => void ready.delete(lane))
        if (ofJoin !== join) return
        knownTo.set(lane, found.knownTo)
        ready.add(lane)
        parts.onTaken()
        if (found.stop !== undefined) {
          stopLane(lane, found.stop)
          return
        }
        stopped.delete(lane)
        metrics.stopped.set({ consumer }, stopped.size)
        kafka.seek(lane, found.next)
        kafka.resume(lane)
        return
      } catch (error) {
        metrics.troubles.inc({ consumer })
        log.warn({ error: describeError(error), lane }, 'cannot tell yet where to read on')
      }
  }
  const again = (lane: number) => {
    kafka.pause(lane)
    ready.delete(lane)
    opener.forget(lane)
    void prepare(lane, join)
  }
  const take = async (batch: InputBatch, control: BatchControl) => {
    const lane = batch.partition
    if (stopped.has(lane) || !ready.has(lane)) return
    if ((await countOpen(pool, consumer, lane, parts.openMax)) >= parts.openMax) {
      control.pause(FULL_MS)
      return
    }
    const read = await parts.reader.read(batch)
    if (read === undefined) {
      control.pause(TROUBLE_MS)
      return
    }
    const flood = await tooManyUnreadable(pool, { consumer, topic, lane }, read)
    if (flood !== undefined) {
      stopLane(lane, flood)
      return
    }
    const records = read.records.map((record) => askedFirst(record, knownTo.get(lane) ?? 0))
    const taken = await takeIn(pool, { consumer, topic, lane }, { ...read, records }, parts.reach)
    if (taken.kind === 'behind') {
      log.warn({ lane, fetched: batch.fetchedOffset, next: taken.next ?? null }, 'Postgres is behind: reading again')
      again(lane)
      return
    }
    const undecodable = read.records.filter(({ kind }) => kind === 'undecodable').length
    metrics.taken.inc({ consumer, outcome: 'fresh' }, taken.fresh)
    metrics.taken.inc({ consumer, outcome: 'duplicate' }, taken.duplicates)
    metrics.taken.inc({ consumer, outcome: 'undecodable' }, undecodable)
    metrics.lag.set({ consumer, lane: String(lane) }, Math.max(0, batch.highWatermark - taken.next))
    control.resolve(batch.endOffset)
    // For those who look at the group's lag, and for a Postgres that is set back (find-start.ts): it never falls.
    kafka.commit(lane, Math.max(taken.next, knownTo.get(lane) ?? 0)).catch(() => undefined)
    if (taken.fresh > 0) parts.onTaken()
  }
  const askedFirst = (record: TakenRecord, known: number): TakenRecord =>
    record.kind === 'event' && record.offset < known && parts.isOutside(record.event.kind)
      ? { ...record, askFirst: true }
      : record
  return {
    lanes: () => lanes,
    ready: () => lanes.filter((lane) => ready.has(lane)),
    stopped: () => stopped,
    close: () => {
      join += 1
      lanes = []
    },
    handlers: {
      onAssigned: (partitions) => {
        const lost = lanes.filter((lane) => !partitions.includes(lane))
        if (lost.length > 0) releaseLanes(pool, owner, run, lost).catch(() => undefined)
        lanes = partitions
        join += 1
        stopped.clear()
        metrics.stopped.set({ consumer }, 0)
        metrics.lag.reset()
        // The group's offset, from which Kafka's client would read on, is not what counts.
        for (const lane of partitions) again(lane)
        parts.onTaken()
      },
      onBatch: async (batch, control) => {
        try {
          await take(batch, control)
        } catch (error) {
          metrics.troubles.inc({ consumer })
          log.warn({ error: describeError(error), lane: batch.partition }, 'a batch waits')
          control.pause(TROUBLE_MS)
        }
      },
      onOutOfRange: (lane) => again(lane),
      onCrash: parts.onCrash,
    },
  }
}
