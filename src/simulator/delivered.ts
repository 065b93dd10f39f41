import type { SenderKeys } from './keys.ts'
import type { Defect, PlannedCallback } from './planned.ts'

/** A request that only has to be posted. */
export interface SignedRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly rawBody: Buffer
}

/** One delivery of a callback: what it tells, and what is wrong with it. */
export interface Delivered {
  readonly callback: PlannedCallback
  readonly defect: Defect
  /** The moment of sending. */
  readonly at: Date
  /** A time of the plan as a date, in whole seconds. */
  readonly dateOf: (atMs: number) => Date
}
export type Sign = (delivered: Delivered, keys: SenderKeys) => Omit<SignedRequest, 'path'>

export const callbackPath = (provider: string, merchant: string) => `/callbacks/${provider}/${merchant}`

/** Half an hour old: too old for a gateway too whose clock is ten minutes slow. */
const STALE_MS = 1_800_000

/** The time that is signed. */
export const signedAt = ({ defect, at }: Delivered) =>
  defect === 'stale_timestamp' ? new Date(at.getTime() - STALE_MS) : at

/** The number of somebody else, in the same form. */
export const strangerTo = (number: string) => `${number.slice(0, -1)}${(Number(number.at(-1)) + 5) % 10}`
