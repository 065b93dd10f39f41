import { partitionFor } from '../runtime/kafka/partition.ts'
import { REPLAYS_MAX, type DeadLetterStatus } from './dead-letter.ts'

/** What decides whether a dead letter may be replayed. */
export interface ReplayCandidate {
  readonly id: number
  readonly reason: string
  readonly status: DeadLetterStatus
  readonly replayCount: number
  readonly lane: number
  readonly key: Buffer | null
  readonly valueBytes: number | null
  /** As they are kept, which is a third more than on the wire. */
  readonly headerBytes: number
}

/** Why a dead letter is not sent: it stays as it is. */
export const REPLAY_REFUSALS = {
  no_value: 'its bytes are not kept: the record had no value, or one above 4 MiB',
  no_key: 'the record had no key, so that no lane is its own',
  key_is_not_the_order: 'the key is not the order number that the record names: it would be misrouted again',
  archived_order: 'its order is archived: nothing moves it any more',
  too_large: 'with its headers it is above what the broker takes in one record',
  replaying: 'another replay of it is under way: dlq replay --run continues it',
  discarded: 'it is discarded',
  quarantined: `it failed after ${REPLAYS_MAX} replays: --quarantined sends it once more`,
} as const
export type ReplayRefusal = keyof typeof REPLAY_REFUSALS

/** Below the broker's default of 1 MiB (message.max.bytes), with room for a replay's own headers. */
const BYTES_MAX = 1_000_000

export interface ReplayRules {
  /** Lanes of the installation. */
  readonly partitions: number
  /** Also what is quarantined. */
  readonly quarantined: boolean
}

/** @returns undefined: it may be sent. */
export function whyNotReplayed(
  letter: ReplayCandidate,
  { partitions, quarantined }: ReplayRules,
): ReplayRefusal | undefined {
  const { status, key, valueBytes, headerBytes, reason, lane, replayCount } = letter
  if (status === 'discarded' || status === 'replaying') return status
  if ((status === 'quarantined' || replayCount >= REPLAYS_MAX) && !quarantined) return 'quarantined'
  if (valueBytes === null) return 'no_value'
  if (key === null || key.length === 0) return 'no_key'
  if (valueBytes + key.length + headerBytes > BYTES_MAX) return 'too_large'
  if (reason === 'archived_order') return reason
  // A producer with another partitioner is mended by the key's own lane; a key that is not the order's is not.
  if (reason === 'misrouted' && partitionFor(key, partitions) === lane) return 'key_is_not_the_order'
  return undefined
}
