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
 */
const NO_FLOOD: readonly DeadLetterReason[] = ['unsupported', 'unroutable', 'archived_order']
export const countsAsFlood = (reason: DeadLetterReason) => !NO_FLOOD.includes(reason)

/** More than this many dead letters in the last 1,000 records: something is wrong with us, not with them. */
export const FLOOD_MAX = 20
/** In offsets. */
export const FLOOD_WINDOW = 1_000
/** No more are remembered than it takes to see a flood. */
export const FLOOD_OFFSETS_MAX = 2 * FLOOD_MAX

export interface DeadLetter {
  readonly offset: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, Buffer>>
  readonly reason: DeadLetterReason
  readonly detail: string
  readonly recordTimeMs: number
}
