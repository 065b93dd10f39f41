/**
 * What the rest of the code may know of Kafka. Only this folder imports kafkajs; offsets are numbers here, as 2^53
 * records per partition are out of reach.
 */

export interface OutgoingMessage {
  /** Bytes where they are another's, and perhaps no text. */
  readonly key: string | Buffer | null
  readonly value: Buffer
  readonly headers?: Readonly<Record<string, string | Buffer>>
}

/** One topic-partition's messages, in order. */
export interface PartitionMessages {
  readonly topic: string
  readonly partition: number
  readonly messages: readonly OutgoingMessage[]
}

export interface CommittedOffset {
  readonly group: string
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly metadata?: string
}

/** A produce call that was acknowledged. */
export interface Acknowledged {
  readonly topic: string
  readonly partition: number
  /** The offset of its first record. */
  readonly baseOffset: number
  readonly count: number
}

/** As they are, or by where the messages lie. */
export type OffsetsToCommit =
  readonly CommittedOffset[] | ((sent: readonly Acknowledged[]) => readonly CommittedOffset[])

/** `count` entries of the kind are acknowledged. */
export type OnCommitStep = (step: 'messages' | 'offset', count: number) => void | Promise<void>

/**
 * The lane's transactional producer. One object is one incarnation: after any error it is dead, its outcome unknown,
 * and the lane must fence with a new one.
 */
export interface LaneProducer {
  /**
   * One Kafka transaction: the messages, one partition per produce call (≤ 700 KB each), one call after another, each
   * acknowledgement checked; then the offsets in the order given; then commit. Give at least one offset: a transaction
   * of nothing sends nothing and so proves nothing. Takes 30 s at most.
   * @param offsets may depend on where the messages lie now; if that throws, the transaction is aborted
   * @throws anything: the outcome is unknown and this object is dead; INVALID_PRODUCER_EPOCH where a newer one is the
   *   reason. A dead one throws DeadProducer at once.
   * @param onStep tells of each entry that was acknowledged: the tests of crashes stop there
   */
  readonly commit: (
    messages: readonly PartitionMessages[],
    offsets: OffsetsToCommit,
    onStep?: OnCommitStep,
  ) => Promise<void>
  /**
   * Sends a transaction of one offset and aborts it: nothing changes, and it is refused where a newer producer has
   * fenced this one, so that what was read since the fence is still true.
   * @throws as `commit`
   */
  readonly prove: (offset: CommittedOffset) => Promise<void>
  readonly isDead: () => boolean
  /** Returns at once; connections close in the background. */
  readonly close: () => Promise<void>
}

/** The gateway's producer (`plain-producer.ts`): at least once, several calls at a time. */
export interface PlainProducer {
  /**
   * Resolves when exactly this partition's records are on every in-sync replica. At most about 700 KB of messages.
   * @throws after `deadlineMs` at the latest; the records may still arrive (an ack after the deadline is ignored).
   */
  readonly send: (messages: PartitionMessages, deadlineMs: number) => Promise<void>
  /** From metadata that is refreshed every minute; throws for a topic that the producer was not created for. */
  readonly partitionCount: (topic: string) => number
  readonly close: () => Promise<void>
}

/** Builds a new producer and fences every older one with the same transactional id (InitProducerId). */
export type FenceProducer = (transactionalId: string) => Promise<LaneProducer>

/**
 * Offsets as the broker has them. Read after a fence only: a read straight after a commit can be stale, and so can one
 * from a coordinator that has just taken over (`store/read-ledger.ts`).
 */
export interface OffsetReader {
  /** `undefined`: the group has no offset for this partition. */
  readonly committed: (
    group: string,
    topic: string,
    partition: number,
  ) => Promise<{ offset: number; metadata: string } | undefined>
  /** Of several topics at one moment, by topic; absent: the group has no offset there. */
  readonly committedAtOnce: (
    group: string,
    topics: readonly string[],
    partition: number,
  ) => Promise<ReadonlyMap<string, { offset: number; metadata: string }>>
  /**
   * The log's first offset, and the offset after the last record that may be read: the high watermark, unless a
   * transaction is open (nobody writes transactions to the input).
   */
  readonly logRange: (topic: string, partition: number) => Promise<{ start: number; end: number }>
  /** By topic: another one of the same name has another id. Empty: the cluster gives none; absent: no such topic. */
  readonly topicIds: (topics: readonly string[]) => Promise<ReadonlyMap<string, string>>
}

export interface InputRecord {
  readonly offset: number
  readonly timestampMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, Buffer>>
}

/** Single partitions, read without a group, as a `read_committed` consumer sees them (`partition-reader.ts`). */
export interface PartitionReader {
  /**
   * The next records from an offset on, about 1 MiB, and the offset after them. `next` is `from` at the end; records may
   * be none before it, where only control or aborted records lie. A `highWatermark` above `next` at the end: a transaction
   * is open, and hides what is behind.
   * @throws OffsetGone the log holds no such offset (any more)
   */
  readonly read: (
    topic: string,
    partition: number,
    from: number,
  ) => Promise<{ readonly records: readonly InputRecord[]; readonly next: number; readonly highWatermark: number }>
  readonly close: () => Promise<void>
}

export interface InputBatch {
  readonly partition: number
  /** The position that was asked for; records before the first one may have been filtered or compacted away. */
  readonly fetchedOffset: number
  /** The offset after the last one of the batch, control records included. */
  readonly endOffset: number
  readonly highWatermark: number
  /** Empty when only control or aborted records lie between the two offsets: the position must advance over them. */
  readonly records: readonly InputRecord[]
}

/** What a handler may do with its batch's partition. */
export interface BatchControl {
  /** All up to here, exclusively, is done. */
  readonly resolve: (endOffset: number) => void
  /** Stops fetching this partition for a while without blocking heartbeats or other partitions. */
  readonly pause: (ms: number) => void
  /** False once the partition is no longer ours or the consumer stops: finish the current step and return. */
  readonly isCurrent: () => boolean
}

export interface InputHandlers {
  /** Called synchronously at every group join, before anything is fetched, with all partitions that are ours now. */
  readonly onAssigned: (partitions: readonly number[]) => void
  /**
   * One batch at a time per partition, different partitions side by side, at most `maxRecords` records. What is not
   * resolved is fetched again. Return soon and pause instead of waiting: nothing is fetched from a broker until all
   * batches of its last fetch have returned. Pause instead of throwing: an error here is a surprise and goes to `onCrash`.
   */
  readonly onBatch: (batch: InputBatch, control: BatchControl) => Promise<void>
  /**
   * The broker has no record at the position asked for (trimmed or truncated log). The partition is paused and nothing
   * is reset: fence, then halt the lane, or `seek` and `resume`.
   */
  readonly onOutOfRange: (partition: number) => void
  /** The consumer died and will not come back: end the process. */
  readonly onCrash: (error: Error) => void
}

export interface InputConsumer {
  /**
   * Joins the group and hands batches over; heartbeats go on meanwhile. Waits for Kafka when it is away.
   * @throws what waiting cannot mend: wrong credentials, no permission.
   */
  readonly run: (handlers: InputHandlers) => Promise<void>
  /** Until `resume`, also across rebalances; may be called in `onAssigned`. */
  readonly pause: (partition: number) => void
  readonly resume: (partition: number) => void
  /** The next fetch of a partition that is ours starts here; ignored for others. */
  /** Without effect while the client restarts after a failure: a join follows, and `onAssigned` with it. */
  readonly seek: (partition: number, offset: number) => void
  /** Milliseconds since the last finished poll, by the monotonic clock; for liveness. */
  readonly sincePollMs: () => number
  readonly stop: () => Promise<void>
}
