/**
 * Every dangerous moment between an order that hears nothing and what is learnt of it, in order. The tests end the
 * process at each of them and look whether the order is paid all the same, and once.
 */
export const QUERY_CRASH_POINTS = [
  'query_scanned', // found, and not filed
  'query_filed',
  'query_leased', // nobody else asks until the lease ends
  'query_answered', // learnt, and not published
  'query_published', // the topic has it, Postgres does not know
  'query_settled',
] as const
export type QueryCrashPoint = (typeof QUERY_CRASH_POINTS)[number]

/** Called at each point. Does nothing in production; a test throws, stops or kills itself there. */
export type QueryReach = (point: QueryCrashPoint) => void | Promise<void>

export const reachNothing: QueryReach = () => undefined
