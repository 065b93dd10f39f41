import type pg from 'pg'
import type { CommittingConsumer } from '../runtime/kafka/input-consumer.ts'
import type { BatchControl, InputBatch, InputHandlers, OffsetReader } from '../runtime/kafka/port.ts'
import { describeError, type Log } from '../runtime/log.ts'
import type { Owner } from './change-row.ts'
import type { Reach } from './crash-points.ts'
import type { ConsumerMetrics } from './metrics.ts'
import { countOpen } from './open-row.ts'
import { readPosition } from './positions.ts'
import type { BatchReader } from './read-batch.ts'
import { takeIn } from './take-in.ts'

export interface IntakeParts {
  readonly pool: pg.Pool
  readonly owner: Owner
  readonly kafka: CommittingConsumer
  readonly offsets: OffsetReader
  readonly reader: BatchReader
  /** A lane with so many events that are not settled takes no more in: what waits is bounded. */
  readonly openMax: number
  readonly onTaken: () => void
  readonly onCrash: (error: Error) => void
  readonly metrics: ConsumerMetrics
  readonly log: Log
  readonly reach: Reach
  readonly elapsedMs: () => number
}

export interface Intake {
  readonly handlers: InputHandlers
  readonly lanes: () => readonly number[]
  /** Lanes that wait for a person, and why. */
  readonly stopped: () => ReadonlyMap<number, string>
  /** Ends what goes on in the background. */
  readonly close: () => void
}

const FULL_MS = 500
const TROUBLE_MS = 1_000
const COMMIT_EVERY_MS = 1_000

/** From the topic into the inbox: where it reads on is Postgres' word, never the group's offset. */
export function createIntake(parts: IntakeParts): Intake {
  const { pool, owner, kafka, offsets, metrics, log, elapsedMs } = parts
  const { consumer, topic } = owner
  let lanes: readonly number[] = []
  let join = 0
  const stopped = new Map<number, string>()
  const committedAtMs = new Map<number, number>()

  const stopLane = (lane: number, reason: string) => {
    kafka.pause(lane)
    stopped.set(lane, reason)
    metrics.stopped.set({ consumer }, stopped.size)
    log.error({ lane, reason }, 'a lane stops until a person has looked')
  }
  /** Finds where to read on and lets the lane go; tries until it can, or the lane is another's. */
  const prepare = async (lane: number, ofJoin: number): Promise<void> => {
    for (; ofJoin === join; await new Promise((resolve) => setTimeout(resolve, TROUBLE_MS)))
      try {
        const { start, end } = await offsets.logRange(topic, lane)
        const next = await readPosition(pool, { consumer, topic, lane }, start)
        if (ofJoin !== join) return
        if (next < start) {
          stopLane(lane, `the records from ${next} to ${start} were deleted before they were read`)
          return
        }
        if (next > end) {
          stopLane(lane, `the position ${next} is after the end ${end} of the log: was the topic made anew?`)
          return
        }
        kafka.seek(lane, next)
        kafka.resume(lane)
        return
      } catch (error) {
        metrics.troubles.inc({ consumer })
        log.warn({ error: describeError(error), lane }, 'cannot tell yet where to read on')
      }
  }
  const again = (lane: number) => {
    kafka.pause(lane)
    void prepare(lane, join)
  }
  const take = async (batch: InputBatch, control: BatchControl) => {
    const lane = batch.partition
    if (stopped.has(lane)) return
    if ((await countOpen(pool, consumer, lane, parts.openMax)) >= parts.openMax) {
      control.pause(FULL_MS)
      return
    }
    const read = await parts.reader.read(batch)
    if (read === undefined) {
      control.pause(TROUBLE_MS)
      return
    }
    const taken = await takeIn(pool, { consumer, topic, lane }, read, parts.reach)
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
    if (taken.fresh > 0) parts.onTaken()
    if (elapsedMs() - (committedAtMs.get(lane) ?? -Infinity) < COMMIT_EVERY_MS && taken.next < batch.highWatermark)
      return
    committedAtMs.set(lane, elapsedMs())
    // Only for those who look at the group's lag.
    kafka.commit(lane, taken.next).catch(() => undefined)
  }
  return {
    lanes: () => lanes,
    stopped: () => stopped,
    close: () => {
      join += 1
      lanes = []
    },
    handlers: {
      onAssigned: (partitions) => {
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
