/**
 * Every dangerous moment of `lane rebuild`, in the order in which it meets them. The tests end the process at each of
 * them, or let an owner fence meanwhile, run the command again, and look whether anything was lost or done twice.
 */
export const REBUILD_CRASH_POINTS = [
  'rebuild_before_fence',
  'rebuild_fenced', // nothing is read
  'rebuild_judged', // what is out is told, and nothing is written
  'rebuild_imported', // numbers are imported, the lane's row is as it was
  'rebuild_before_commit',
  'rebuild_commit_sent', // nobody knows
  'rebuild_after_commit', // Postgres knows what is out, Kafka has no ledger
  'rebuild_ledger_sent', // in a transaction of Kafka that is open
  'rebuild_ledger_committed', // the lane is still halted
  'rebuild_resume_before_commit',
  'rebuild_resume_commit_sent',
  'rebuild_resumed', // nobody was told
] as const
export type RebuildCrashPoint = (typeof REBUILD_CRASH_POINTS)[number]

/** Called at each point of a verb that has some. Does nothing in production; a test stops or kills the process there. */
export type CliReach = (point: string) => void | Promise<void>

export const reachNothing: CliReach = () => undefined
