/**
 * Every dangerous moment between a request and its answer, in the order in which each kind of request meets them. The
 * tests end the process at each of them, send the request again, and look whether anything was lost or done twice.
 */
export const API_CRASH_POINTS = [
  // Creating orders.
  'create_insert_before_begin',
  'create_insert_written',
  'create_insert_before_commit',
  'create_insert_commit_sent', // nobody knows
  'create_insert_after_commit',
  // Creating those whose callbacks came first.
  'create_complete_before_begin',
  'create_complete_locked',
  'create_complete_written', // the lane is not told
  'create_complete_before_commit',
  'create_complete_commit_sent',
  'create_complete_after_commit',
  // Commands: closing an order, resolving an anomaly.
  'command_before_begin',
  'command_filed', // inserted, the lane is not told
  'command_before_commit',
  'command_commit_sent',
  'command_after_commit',
  'command_waiting', // for what the lane decides
  // Claiming and releasing an anomaly.
  'claim_before_begin',
  'claim_locked',
  'claim_changed', // who did it is not noted
  'claim_before_commit',
  'claim_commit_sent',
  'claim_after_commit',
  // Discarding a dead letter.
  'discard_before_begin',
  'discard_changed',
  'discard_before_commit',
  'discard_commit_sent',
  'discard_after_commit',
  // Setting and releasing a brake.
  'brake_before_begin',
  'brake_changed',
  'brake_before_commit',
  'brake_commit_sent',
  'brake_after_commit',
  'brake_ruled', // no lane is told
  'brake_told_lane', // one is
  'brake_told',
  // All of them: it is done, and nobody was told.
  'before_answer',
] as const
export type ApiCrashPoint = (typeof API_CRASH_POINTS)[number]

/** Called at each point. Does nothing in production; a test throws, stops or kills itself there. */
export type ApiReach = (point: ApiCrashPoint) => void | Promise<void>

export const reachNothing: ApiReach = () => undefined
