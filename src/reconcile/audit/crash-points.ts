/**
 * Every moment of an audit at which it may be stopped, in the order in which it meets them. The tests end the process at
 * each of them, go on with `--resume`, and compare the digest with that of a run that nobody stopped.
 */
export const AUDIT_CRASH_POINTS = [
  'audit_before_begin', // it is the only one, and no run is noted
  'audit_begun',
  'audit_lane_judged', // nothing of the lane is kept
  'audit_lane_before_commit',
  'audit_lane_commit_sent', // nobody knows
  'audit_lane_after_commit',
  'audit_page_judged', // nothing of the page's orders is kept
  'audit_page_before_commit',
  'audit_page_commit_sent',
  'audit_page_after_commit',
  'audit_judged', // all of it, and no result is noted
  'audit_concluded', // nobody was told
] as const
export type AuditCrashPoint = (typeof AUDIT_CRASH_POINTS)[number]
