/** Every dangerous moment of a consumer, in the order in which an event meets them. Tests end the process at each. */
export const CRASH_POINTS = [
  // Taking events in from the topic.
  'take_in_before_commit', // rows and position are written
  'take_in_commit_sent', // nobody knows
  'take_in_after_commit', // Postgres is ahead of the group's offset
  // inbox(): an effect in the consumer's own database.
  'inbox_claimed', // the row is locked
  'inbox_handled', // the handler has returned
  'inbox_before_commit',
  'inbox_commit_sent',
  'inbox_after_commit',
  // once(): an effect at a third party.
  'once_locked', // Redis' lock is taken, the row still says `waiting`
  'once_calling_written', // and not committed
  'once_calling_committed', // nothing has left the process
  'once_row_held', // the row is locked for the time of the call
  'once_called', // the third party has answered
  'once_before_commit',
  'once_commit_sent',
  'once_after_commit', // Redis' lock is still there
  // Finding a row that says `calling`.
  'ask_taken_over', // the fence is raised
  'ask_answered',
  'ask_before_commit',
  'ask_commit_sent',
  'ask_after_commit',
  // Reporting to the gateway.
  'report_claimed',
  'report_sent', // accepted, and not yet noted
  'report_after_commit',
] as const
export type CrashPoint = (typeof CRASH_POINTS)[number]
export type Reach = (point: CrashPoint) => void | Promise<void>
