/** How far a signed time may lie from ours, both ways: the five minutes of WeChat Pay and of Standard Webhooks. */
export const TOLERANCE_SEC = 300

const UNIX_SECONDS = /^\d{10}$/

/**
 * Age of a signed timestamp in seconds, negative in the future; undefined if it is not ten decimal digits. Read from
 * the header as it was sent: a lenient parser would take `+1624523846`, `1e9` or milliseconds, and NaN is never stale.
 */
export const ageSec = (timestamp: string, now: Date): number | undefined =>
  UNIX_SECONDS.test(timestamp) ? Math.floor(now.getTime() / 1_000) - Number(timestamp) : undefined

const DIGITS = /^\d{1,12}$/

/** A signed time in seconds since 1970 in any number of digits: for whoever explains why it is refused. */
export const signedSec = (timestamp: string): number | undefined =>
  DIGITS.test(timestamp) ? Number(timestamp) : undefined
