import type { Transaction } from '../runtime/postgres.ts'
import type { Fulfillment } from '../schemas/fulfillment.ts'
import type { WriteReport } from './write-report.ts'

/** What came of a handler. Nothing returned: done. */
export type Outcome =
  | { readonly kind: 'done' }
  /** Not now: what it wrote is undone, the order's later events wait, and it runs again. */
  | { readonly kind: 'retry'; readonly reason: string; readonly afterMs?: number }
  /** Never: what it wrote is undone and the event becomes a dead letter; the order's later events go on. */
  | { readonly kind: 'refused'; readonly reason: string }

/** What came of a call to a third party. Whatever it throws, and the end of its time, counts as `unknown`. */
export type CallOutcome =
  | { readonly kind: 'happened'; readonly reference?: string }
  /** It surely did not happen, as nothing was sent, or was refused before anything was done with it. */
  | { readonly kind: 'retry'; readonly reason: string; readonly afterMs?: number }
  /** It surely did not and never will: a dead letter. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string }

/** What the third party says of an event id. */
export type Answer =
  | { readonly kind: 'happened'; readonly reference?: string }
  | { readonly kind: 'did_not_happen' }
  /** It cannot say, or not yet (in progress). Whatever `ask` throws counts as this. */
  | { readonly kind: 'unknown'; readonly reason: string }

export interface CallContext {
  /** Rises with every call and every question about an event: a third party that takes it refuses lower ones. */
  readonly fence: bigint
  /** Ends with the time for the call, and when the row is no longer held: give it to `fetch`. */
  readonly signal: AbortSignal
}

export interface Effects {
  readonly report: WriteReport
}

export interface InboxEffect {
  readonly kind: 'inbox'
  readonly handle: (tx: Transaction, event: Fulfillment, effects: Effects) => Promise<Outcome | undefined>
}

export interface OnceOptions {
  /** Makes it happen. It is called again only when it is settled that the call before did not happen. */
  readonly call: (event: Fulfillment, context: CallContext) => Promise<CallOutcome>
  /** Asks the third party, by `event.eventId`. */
  readonly ask: (event: Fulfillment, context: CallContext) => Promise<Answer>
  /** In the transaction that settles the event: the tracking number for one's own tables, a report. */
  readonly settled?: (
    tx: Transaction,
    event: Fulfillment,
    effects: Effects & { readonly reference: string | undefined },
  ) => Promise<void>
  /** Time for one call or question; default 10 s. */
  readonly callMs?: number
  /**
   * How long after the end of a call the third party may still carry out what it has received. Its `did_not_happen` is
   * believed only after that: before, the call may be under way. `never`: it gives no such limit, so a person decides.
   * Ask the third party for this number; the default is a guess of 60 s.
   */
  readonly lateMs?: number | 'never'
  /**
   * The third party keeps the highest fence of an event, of calls and questions, and refuses lower ones. Then its
   * `did_not_happen` is believed at once, as a call under way can no longer succeed.
   */
  readonly takesFence?: boolean
  /** After so long without an answer a person is told; default 15 min. */
  readonly settleMsMax?: number
}

export interface OnceEffect extends Required<Omit<OnceOptions, 'settled'>> {
  readonly kind: 'once'
  readonly settled: NonNullable<OnceOptions['settled']>
}

/** Nothing is to be done with events of this kind. */
export interface SkipEffect {
  readonly kind: 'skip'
}
export type Effect = InboxEffect | OnceEffect | SkipEffect

export const skip: SkipEffect = { kind: 'skip' }

/** An effect in the consumer's own database: it commits together with the row that says that the event is done. */
export const inbox = (
  handle: (tx: Transaction, event: Fulfillment, effects: Effects) => Promise<Outcome | undefined> | Promise<void>,
): InboxEffect => ({
  kind: 'inbox',
  handle: async (tx, event, effects) => (await handle(tx, event, effects)) ?? undefined,
})

/** An effect outside, at a third party that need not be idempotent. @throws RangeError for times that make no sense */
export function once(options: OnceOptions): OnceEffect {
  const { callMs = 10_000, lateMs = 60_000, settleMsMax = 900_000, takesFence = false } = options
  for (const [name, ms] of Object.entries({ callMs, lateMs: lateMs === 'never' ? 0 : lateMs, settleMsMax }))
    if (!Number.isSafeInteger(ms) || ms < 0 || ms > 30 * 86_400_000)
      throw new RangeError(`once: ${name} must be 0 ms to 30 days, in whole milliseconds`)
  if (callMs < 1) throw new RangeError('once: callMs must be at least 1')
  if (lateMs !== 'never' && !takesFence && settleMsMax <= callMs + lateMs)
    throw new RangeError('once: settleMsMax must be longer than callMs + lateMs, or no answer could be believed')
  const settled = options.settled ?? (() => Promise.resolve())
  return { kind: 'once', ...{ call: options.call, ask: options.ask, settled, callMs, lateMs, settleMsMax, takesFence } }
}

export const retry = (reason: string, afterMs?: number) =>
  ({ kind: 'retry', reason, ...(afterMs === undefined ? {} : { afterMs }) }) as const
export const refused = (reason: string) => ({ kind: 'refused', reason }) as const
