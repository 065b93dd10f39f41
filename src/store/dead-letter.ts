import type { Callback } from '../schemas/callback.ts'
import type { Replay } from '../schemas/headers.ts'

/** Why a record could not be processed. */
export const DEAD_LETTER_REASONS = [
  'undecodable',
  'unknown_schema',
  'invalid_identity',
  'misrouted',
  'unroutable',
  'unsupported',
  'unprocessable',
  'killed_owner',
  'archived_order',
] as const
export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number]

/**
 * Verified messages are no trouble of ours: a provider's account that is shared with other software sends as many of
 * kinds that are not mapped, or about orders that are not ours or were archived, as it likes. They must not halt a lane.
 * Nor must a replay that fails again: it was asked for, and says nothing new.
 */
const NO_FLOOD: readonly DeadLetterReason[] = ['unsupported', 'unroutable', 'archived_order']
export const countsAsFlood = ({ reason, replay }: Pick<DeadLetter, 'reason' | 'replay'>) =>
  !NO_FLOOD.includes(reason) && replay === undefined

/** More than this many dead letters in the last 1,000 records: something is wrong with us, not with them. */
export const FLOOD_MAX = 20
/** In offsets. */
export const FLOOD_WINDOW = 1_000
/** No more are remembered than it takes to see a flood. */
export const FLOOD_OFFSETS_MAX = 2 * FLOOD_MAX

/** What fails after so many replays is `quarantined`: one more must be asked for by name. */
export const REPLAYS_MAX = 5

export const DEAD_LETTER_STATUSES = ['open', 'replaying', 'replayed', 'discarded', 'quarantined'] as const
/**
 * `open`: waits for a person. `replaying`: is to be sent into the input topic again. `replayed`: the topic has it again;
 * if it failed again there is a new dead letter of it. `quarantined`: it failed after `REPLAYS_MAX` replays.
 */
export type DeadLetterStatus = (typeof DEAD_LETTER_STATUSES)[number]

export interface DeadLetter {
  readonly offset: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, Buffer>>
  readonly reason: DeadLetterReason
  readonly detail: string
  readonly recordTimeMs: number
  /** What the record said, where it could be decoded. */
  readonly about: Pick<Callback, 'merchant' | 'outTradeNo' | 'provider' | 'messageType'> | undefined
  /** It is a replay, which failed again. */
  readonly replay: Replay | undefined
}
