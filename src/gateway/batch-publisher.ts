import type { Clock } from '../runtime/clock.ts'
import { kafkaErrorType } from '../runtime/kafka/error-type.ts'
import { partitionFor } from '../runtime/kafka/partition.ts'
import type { OutgoingMessage, PlainProducer } from '../runtime/kafka/port.ts'
import { CALL_BYTES_MAX, messageBytes } from '../runtime/kafka/split-messages.ts'
import { describeError, type Log } from '../runtime/log.ts'
import { reachNothing, type GatewayReach } from './crash-points.ts'

export type Published =
  /** On every in-sync replica. */
  | { readonly kind: 'acked' }
  /** Not known to be published; it may be all the same (`broker`). */
  | { readonly kind: 'failed'; readonly reason: 'overloaded' | 'expired' | 'too_large' | 'broker' | 'closed' }

export interface BatchPublisher {
  /**
   * Calls `settle` exactly once. The partition is the one of `message.key`; `deadlineAtMs` is by `clock.elapsedMs`.
   */
  readonly publish: (
    message: OutgoingMessage & { readonly key: string },
    deadlineAtMs: number,
    settle: (published: Published) => void,
  ) => void
  /** Publishes what waits, refuses what comes, and resolves when all is settled. */
  readonly close: () => Promise<void>
  readonly pending: () => { readonly records: number; readonly bytes: number }
}

export interface PublisherOptions {
  readonly topic: string
  readonly partitions: number
  /** The least time between two rounds of calls. */
  readonly intervalMs: number
  readonly pendingRecordsMax: number
  readonly pendingBytesMax: number
  readonly onBatch: (records: number) => void
  /** Kafka has another number of partitions now than when we started: keys would meet another lane. */
  readonly onPartitionCountChanged: () => void
}

interface Pending {
  readonly message: OutgoingMessage
  readonly bytes: number
  readonly deadlineAtMs: number
  readonly settle: (published: Published) => void
}
interface PartitionQueue {
  readonly partition: number
  waiting: Pending[]
  inFlight: boolean
}

const BATCH_RECORDS_MAX = 1_000
/**
 * A produce call costs the gateway and the broker as much as a dozen records, whatever it holds, so a round of many
 * calls is followed by a longer pause: at most 500 calls a second, and no record waits more than 100 ms for the next.
 */
const MS_PER_CALL = 2
const PAUSE_MS_MAX = 100
const ACKED: Published = { kind: 'acked' }
const failed = (reason: (Published & { kind: 'failed' })['reason']): Published => ({ kind: 'failed', reason })

/**
 * kafkajs has no linger: each `send` is a produce request. So records are collected per partition and sent together,
 * the first of a quiet moment at the end of its turn of the event loop, the others with the next round; one call is in
 * flight per partition, and each call has one partition (kafkajs can lose records of a call with several).
 */
export function createBatchPublisher(
  producer: PlainProducer,
  options: PublisherOptions,
  clock: Clock,
  log: Log,
  reach: GatewayReach = reachNothing,
): BatchPublisher {
  const queues = Array.from({ length: options.partitions }, (_, partition): PartitionQueue => {
    return { partition, waiting: [], inFlight: false }
  })
  let records = 0
  let bytes = 0
  let calls = 0
  let scheduled = false
  let nextRoundAtMs = -Infinity
  let closing: (() => void) | undefined

  const settle = (item: Pending, published: Published) => {
    records -= 1
    bytes -= item.bytes
    item.settle(published)
  }

  const schedule = () => {
    if (scheduled) return
    scheduled = true
    const delayMs = closing === undefined ? nextRoundAtMs - clock.elapsedMs() : 0
    if (delayMs <= 0) setImmediate(flush)
    else setTimeout(flush, delayMs)
  }

  const flush = () => {
    scheduled = false
    const nowMs = clock.elapsedMs()
    let sent = 0
    const count = producer.partitionCount(options.topic)
    if (count !== options.partitions) options.onPartitionCountChanged()
    for (const queue of queues) {
      if (queue.inFlight || queue.waiting.length === 0) continue
      const batch = count === options.partitions ? take(queue, nowMs, settle) : takeNothing(queue, settle)
      if (batch.length === 0) continue
      void send(queue, batch, nowMs)
      sent += 1
    }
    nextRoundAtMs = nowMs + Math.min(Math.max(options.intervalMs, sent * MS_PER_CALL), PAUSE_MS_MAX)
    settleClose()
  }

  const send = async (queue: PartitionQueue, batch: readonly Pending[], nowMs: number) => {
    queue.inFlight = true
    calls += 1
    options.onBatch(batch.length)
    const error = await produce(queue.partition, batch, nowMs)
    if (error === undefined) for (const item of batch) settle(item, ACKED)
    else if (batch.length === 1 || !isTooLarge(error)) fail(queue.partition, batch, error)
    else await sendOneByOne(queue.partition, batch)
    queue.inFlight = false
    calls -= 1
    if (queue.waiting.length > 0) schedule()
    settleClose()
  }

  /** The broker refuses a batch as a whole; the one that is too large must not take the others with it. */
  const sendOneByOne = async (partition: number, batch: readonly Pending[]) => {
    for (const item of batch) {
      const error = await produce(partition, [item], clock.elapsedMs())
      if (error === undefined) settle(item, ACKED)
      else fail(partition, [item], error)
    }
  }

  const produce = async (partition: number, batch: readonly Pending[], nowMs: number): Promise<unknown> => {
    let deadlineAtMs = nowMs
    const messages = batch.map((item) => {
      if (item.deadlineAtMs > deadlineAtMs) deadlineAtMs = item.deadlineAtMs
      return item.message
    })
    if (deadlineAtMs <= nowMs) return new Error('the deadline passed')
    try {
      const sent = producer.send({ topic: options.topic, partition, messages }, Math.ceil(deadlineAtMs - nowMs))
      reach('produce_called')
      await sent
      return undefined
    } catch (error) {
      return error ?? new Error('the producer threw nothing')
    }
  }

  const fail = (partition: number, batch: readonly Pending[], error: unknown) => {
    log.warn({ partition, records: batch.length, error: describeError(error) }, 'not published')
    const published = failed(isTooLarge(error) ? 'too_large' : 'broker')
    for (const item of batch) settle(item, published)
  }

  const settleClose = () => {
    if (closing !== undefined && records === 0 && calls === 0) closing()
  }

  return {
    publish: (message, deadlineAtMs, settle) => {
      const size = messageBytes(message)
      const queue = queues[partitionFor(message.key, options.partitions)]
      if (closing !== undefined || queue === undefined) settle(failed('closed'))
      else if (records >= options.pendingRecordsMax || bytes + size > options.pendingBytesMax)
        settle(failed('overloaded'))
      else {
        records += 1
        bytes += size
        queue.waiting.push({ message, bytes: size, deadlineAtMs, settle })
        schedule()
      }
    },
    close: () =>
      new Promise((resolve) => {
        closing = resolve
        scheduled = false
        schedule()
      }),
    pending: () => ({ records, bytes }),
  }
}

/** The next call's records: what is past its deadline has been answered with failure and only takes up room. */
function take(queue: PartitionQueue, nowMs: number, settle: (item: Pending, published: Published) => void): Pending[] {
  const batch: Pending[] = []
  let bytes = 0
  let taken = 0
  for (const item of queue.waiting) {
    if (item.deadlineAtMs <= nowMs) settle(item, failed('expired'))
    else if (batch.length === 0 || (batch.length < BATCH_RECORDS_MAX && bytes + item.bytes <= CALL_BYTES_MAX)) {
      batch.push(item)
      bytes += item.bytes
    } else break
    taken += 1
  }
  queue.waiting = taken === queue.waiting.length ? [] : queue.waiting.slice(taken)
  return batch
}

function takeNothing(queue: PartitionQueue, settle: (item: Pending, published: Published) => void): Pending[] {
  for (const item of queue.waiting) settle(item, failed('broker'))
  queue.waiting = []
  return []
}

const isTooLarge = (error: unknown) => {
  const type = kafkaErrorType(error)
  return type === 'MESSAGE_TOO_LARGE' || type === 'RECORD_LIST_TOO_LARGE'
}
