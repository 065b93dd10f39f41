/**
 * Every dangerous moment between reading a record and being done with it, in the order in which a lane meets them. The
 * tests end the process at each of them and look whether anything was lost or done twice.
 */
export const CRASH_POINTS = [
  // The fence.
  'fence_before_init',
  'fence_after_init', // older producers are fenced, nothing is read yet
  'fence_after_backends', // older backends are ended, the counter is not raised
  'fence_after_read', // the lane row is read; group offset, ledger and log range are not
  'fence_after_offsets',
  'fence_before_first_ledger', // a fresh lane: its row is there, its ledger is not
  'fence_done',
  // Step 1: the Postgres transaction of a batch.
  'batch_before_begin',
  'batch_after_stubs', // A
  'batch_after_lock', // B
  'batch_after_read', // C
  'batch_before_lane_row', // decided; D is not sent
  'batch_before_commit', // D is answered
  'batch_commit_sent', // nobody knows
  'batch_after_commit', // Postgres is ahead of Kafka
  'brake_changed', // a batch or wake was refused as a brake was set or released meanwhile; it runs again
  // Step 1 of a wake.
  'wake_after_work',
  'wake_before_begin',
  'wake_after_lock',
  'wake_after_read',
  'wake_before_lane_row',
  'wake_before_commit',
  'wake_commit_sent',
  'wake_after_commit',
  // Step 1 of the events that waited for a brake.
  'release_before_begin',
  'release_after_lock',
  'release_after_read',
  'release_before_lane_row',
  'release_before_spend', // they are numbered, and still wait
  'release_before_commit',
  'release_commit_sent',
  'release_after_commit',
  // Step 2: the Kafka transaction.
  'emit_before_transaction',
  'emit_after_first_send', // one topic has its events, others have not
  'emit_after_sends',
  'emit_after_group_offset',
  'emit_after_ledger',
  'emit_after_kafka_commit', // Kafka is ahead of the position in memory
  'emit_after_resolve',
] as const
export type CrashPoint = (typeof CRASH_POINTS)[number]

/** Called at each point. Does nothing in production; a test throws, stops or kills itself there. */
export type Reach = (point: CrashPoint) => void | Promise<void>

export const reachNothing: Reach = () => undefined
