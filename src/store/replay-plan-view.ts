import type { ReplayRefusal } from './plan-replay.ts'

/** What a replay sends, or would send. */
export interface ReplayPlan {
  /** Letters that will be (or would be) sent, by the reason for which they are dead letters. */
  readonly byReason: Readonly<Record<string, number>>
  readonly count: number
  readonly refused: readonly { readonly id: number; readonly why: ReplayRefusal }[]
  /** Of the ids that were given. */
  readonly notThere: number
  /** More are there than one command takes. */
  readonly more: boolean
}

/** Entries of `refused` that are shown and kept; all are counted. */
export const REFUSED_SHOWN_MAX = 1_000

/** What the api and the command line show of it, and what is kept with a run. */
export const planView = ({ byReason, count, refused, notThere, more }: ReplayPlan) => ({
  to_replay: count,
  by_reason: byReason,
  refused_count: refused.length,
  refused: refused.slice(0, REFUSED_SHOWN_MAX),
  not_there: notThere,
  more,
})
export type ReplayPlanView = ReturnType<typeof planView>
