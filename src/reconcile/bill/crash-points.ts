/**
 * Every dangerous moment of a bill's import, in order. The tests end it at each of them, and look whether another import
 * comes to the same, and each missing payment is paid once.
 */
export const BILL_CRASH_POINTS = [
  'bill_begun', // it is written down that it runs
  'bill_matched',
  'bill_answered', // the provider has confirmed it, and nothing is published
  'bill_published', // it is on its way, and Postgres does not know
  'bill_settled',
  'bill_before_commit',
  'bill_commit_sent', // nobody knows
  'bill_after_commit',
] as const
export type BillCrashPoint = (typeof BILL_CRASH_POINTS)[number]

/** Called at each point. Does nothing in production; a test throws there. */
export type BillReach = (point: BillCrashPoint) => void | Promise<void>

export const reachNothing: BillReach = () => undefined
