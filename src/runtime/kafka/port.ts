/**
 * What the rest of the code may know of Kafka. Only this folder imports kafkajs; offsets are numbers here, as 2^53
 * records per partition are out of reach.
 */

export interface OutgoingMessage {
  readonly key: string | null
  readonly value: Buffer
  readonly headers?: Readonly<Record<string, string>>
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

/**
 * The lane's transactional producer. One object is one incarnation: after any error it is dead, its outcome unknown,
 * and the lane must fence with a new one (DESIGN 3.2).
 */
export interface LaneProducer {
  /**
   * One Kafka transaction: the messages, one partition per produce call (≤ 700 KB each), one call after another, each
   * acknowledgement checked; then the offsets in the order given; then commit.
   * @throws anything: the outcome is unknown and this object is dead.
   */
  readonly commit: (messages: readonly PartitionMessages[], offsets: readonly CommittedOffset[]) => Promise<void>
  readonly isDead: () => boolean
  readonly close: () => Promise<void>
}

/** Builds a new producer and fences every older one with the same transactional id (InitProducerId). */
export type FenceProducer = (transactionalId: string) => Promise<LaneProducer>

/** Offsets as the broker has them. Read after a fence only: a read straight after a commit can be stale. */
export interface OffsetReader {
  /** `undefined`: the group has no offset for this partition. */
  readonly committed: (
    group: string,
    topic: string,
    partition: number,
  ) => Promise<{ offset: number; metadata: string } | undefined>
  /** The log's first offset and the high watermark. */
  readonly logRange: (topic: string, partition: number) => Promise<{ start: number; end: number }>
}

export interface InputRecord {
  readonly offset: number
  readonly timestampMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, Buffer>>
}

export interface InputBatch {
  readonly partition: number
  /** The position that was asked for; records before the first one may have been filtered or compacted away. */
  readonly fetchedOffset: number
  /** The offset after the last one of the fetch, control records included. */
  readonly endOffset: number
  readonly highWatermark: number
  readonly records: readonly InputRecord[]
}

/** What a handler may do with its batch's partition. */
export interface BatchControl {
  /** All up to here, exclusively, is done. */
  readonly resolve: (endOffset: number) => void
  readonly seek: (offset: number) => void
  /** Stops fetching this partition for a while without blocking heartbeats or other partitions. */
  readonly pause: (ms: number) => void
  /** False once the partition is no longer ours or the consumer stops: finish the current step and return. */
  readonly isCurrent: () => boolean
}

export interface InputConsumer {
  /**
   * Joins the group and hands batches over, one at a time per partition; heartbeats go on meanwhile. `onAssigned` is
   * called synchronously at every group join with the partitions that are ours.
   */
  readonly run: (handlers: {
    readonly onAssigned: (partitions: readonly number[]) => void
    readonly onBatch: (batch: InputBatch, control: BatchControl) => Promise<void>
    /** The consumer died and will not come back: end the process. */
    readonly onCrash: (error: Error) => void
  }) => Promise<void>
  readonly pause: (partition: number) => void
  readonly resume: (partition: number) => void
  /** Milliseconds since the last finished poll, by the monotonic clock; for liveness. */
  readonly sincePollMs: () => number
  readonly stop: () => Promise<void>
}
