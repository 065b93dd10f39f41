import type { Consumer, EachBatchPayload } from 'kafkajs'
import { systemClock, type Clock } from '../clock.ts'
import { describeError, type Log } from '../log.ts'
import { kafkaFor, type KafkaSettings } from './connection.ts'
import { withDeadline } from './deadline.ts'
import { forgetOffsetOutOfRange, onOffsetOutOfRange } from './guards/offset-reset.ts'
import { createHeartbeats } from './heartbeats.ts'
import { createPauses } from './pauses.ts'
import type { InputConsumer, InputHandlers } from './port.ts'
import { explainCodec } from './explain-codec.ts'
import { subscribe } from './subscribe.ts'
import { toInputBatches } from './to-input-batch.ts'

export interface InputConsumerOptions {
  readonly group: string
  readonly topic: string
  /** The topic's partition count: as many may be in work at a time. */
  readonly partitions: number
  readonly sessionTimeoutMs?: number
  readonly rebalanceTimeoutMs?: number
  /** A fetch waits for so many bytes, at most `maxWaitMs`. A resumed partition waits for the running fetch. */
  readonly minBytes?: number
  readonly maxWaitMs?: number
  readonly maxBytesPerPartition?: number
  /** A larger fetch is handed over in several batches. */
  readonly maxRecords?: number
}

const STOP_MS_MAX = 15_000

/** A consumer whose position lies elsewhere may tell the group of it, for whoever looks at the group's lag. */
export interface CommittingConsumer extends InputConsumer {
  /** Best effort: nothing reads it back. */
  readonly commit: (partition: number, offset: number) => Promise<void>
}

/** Reads the topic as a member of the group. A lane's offsets are committed by its own transactions, never here. */
export function createInputConsumer(
  settings: KafkaSettings,
  options: InputConsumerOptions,
  log: Log,
  clock: Clock = systemClock,
): CommittingConsumer {
  const { topic, sessionTimeoutMs = 10_000, maxRecords = 1_000 } = options
  const consumer = kafkaFor(settings, 'paidonce-input', log).consumer({
    groupId: options.group,
    sessionTimeout: sessionTimeoutMs,
    rebalanceTimeout: options.rebalanceTimeoutMs ?? 60_000,
    // Shorter than our timer's period, or every second tick would be skipped.
    heartbeatInterval: Math.floor(sessionTimeoutMs / 6),
    minBytes: options.minBytes ?? 1,
    maxWaitTimeInMs: options.maxWaitMs ?? 200,
    maxBytesPerPartition: options.maxBytesPerPartition ?? 1_048_576,
    maxBytes: 16 * 1_048_576,
    readUncommitted: false,
    allowAutoTopicCreation: false,
    metadataMaxAge: 60_000,
    retry: { initialRetryTime: 100, maxRetryTime: 2_000, retries: 10, factor: 0.2, multiplier: 2 },
  })
  const heartbeats = createHeartbeats(Math.floor(sessionTimeoutMs / 5))
  const pauses = createPauses((partition, paused) => applyPause(consumer, topic, partition, paused))
  let assigned: ReadonlySet<number> = new Set()
  let memberId: string | undefined
  let polledAtMs = clock.elapsedMs()
  let stopping = false
  let crashed = false

  const seek = (partition: number, offset: number) => {
    if (assigned.has(partition))
      whileItRuns(() => {
        consumer.seek({ topic, partition, offset: String(offset) })
      })
  }
  const eachBatch = async (payload: EachBatchPayload, { onBatch }: InputHandlers) => {
    const { batch } = payload
    const { partition } = batch
    const isCurrent = () => !stopping && payload.isRunning() && assigned.has(partition)
    for (const part of toInputBatches(batch, maxRecords)) {
      if (!isCurrent()) return
      let resolvedTo = part.fetchedOffset
      await onBatch(part, {
        resolve: (endOffset) => {
          resolvedTo = endOffset
          if (assigned.has(partition)) payload.resolveOffset(String(endOffset - 1))
        },
        pause: (ms) => pauses.pauseFor(partition, ms),
        isCurrent,
      })
      if (resolvedTo < part.endOffset || payload.isStale() || pauses.isPaused(partition)) return
    }
  }

  return {
    run: async (handlers) => {
      const crash = (error: unknown) => {
        if (crashed) return
        crashed = true
        handlers.onCrash(error instanceof Error ? error : new Error(String(error)))
      }
      const { FETCH, GROUP_JOIN, CRASH } = consumer.events
      consumer.on(FETCH, () => void (polledAtMs = clock.elapsedMs()))
      consumer.on(CRASH, ({ payload: { error, restart } }) => {
        if (!restart) crash(explainCodec(error, topic))
      })
      // kafkajs calls this before it fetches again and does not wait: all here is synchronous and throws nothing.
      consumer.on(GROUP_JOIN, ({ payload }) => {
        assigned = new Set(payload.memberAssignment[topic] ?? [])
        heartbeats.joined()
        if (memberId !== undefined) forgetOffsetOutOfRange(memberId)
        memberId = payload.memberId
        onOffsetOutOfRange(memberId, (_, partition) => {
          pauses.pause(partition)
          attempt(() => handlers.onOutOfRange(partition), crash)
        })
        pauses.reapply()
        attempt(() => handlers.onAssigned([...assigned]), crash)
      })
      await subscribe(consumer, topic, () => stopping, log)
      if (stopping) return
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: options.partitions,
        eachBatch: (payload) =>
          heartbeats.during(
            () => payload.heartbeat(),
            () =>
              eachBatch(payload, handlers).catch((error: unknown) => {
                crash(error)
                pauses.pause(payload.batch.partition)
              }),
          ),
      })
    },
    pause: pauses.pause,
    resume: pauses.resume,
    seek,
    commit: (partition, offset) => consumer.commitOffsets([{ topic, partition, offset: String(offset) }]),
    sincePollMs: () => clock.elapsedMs() - polledAtMs,
    stop: async () => {
      stopping = true
      pauses.stop()
      await withDeadline(consumer.disconnect(), STOP_MS_MAX, 'Leaving the consumer group').catch((error: unknown) =>
        log.warn({ error: describeError(error) }, 'the consumer did not stop in time'),
      )
      if (memberId !== undefined) forgetOffsetOutOfRange(memberId)
    },
  }
}

function attempt(work: () => void, failed: (error: unknown) => void): void {
  try {
    work()
  } catch (error) {
    failed(error)
  }
}

function applyPause(consumer: Consumer, topic: string, partition: number, paused: boolean): void {
  const partitions = [{ topic, partitions: [partition] }]
  whileItRuns(() => {
    if (paused) consumer.pause(partitions)
    else consumer.resume(partitions)
  })
}

/**
 * Before `run`, and while kafkajs restarts after a failure, it has nothing to pause or to move, and throws. The next
 * join applies the pauses again, and whoever moved a partition fences anew then and moves it again.
 */
function whileItRuns(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('Consumer group was not initialized'))) throw error
  }
}
