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
 * A verified message of a kind that is not mapped is nobody's mistake and says nothing about a flood; nor does news
 * about orders that were archived.
 */
export const countsAsFlood = (reason: DeadLetterReason) => reason !== 'unsupported' && reason !== 'archived_order'

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
