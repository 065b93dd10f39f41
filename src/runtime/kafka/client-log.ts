import type { LogEntry } from 'kafkajs'
import type { Log } from '../log.ts'
import { systemClock, type Clock } from '../clock.ts'
import { logLevel } from './kafkajs.ts'

/** kafkajs calls these ERROR though it retries them or rejoins by itself; the texts are those of its error table. */
const ROUTINE = [
  'concurrent operation on the same transaction was ongoing',
  'The group is rebalancing',
  'This is not the correct coordinator',
  'The group coordinator is not available',
  'The coordinator is loading',
  'Specified group generation id is not valid',
  'The coordinator is not aware of this member',
]
const CONTEXT = ['broker', 'clientId', 'groupId', 'memberId', 'topic', 'partition', 'retryCount', 'retryTime'] as const
const REPEAT_MS_MIN = 5_000
const REMEMBERED_MAX = 200

/**
 * kafkajs' log in ours. Only named fields pass, so no payload and no credential can. Routine trouble is `debug`; a
 * line that repeats (a broker that is away: dozens a second) is written once in 5 s.
 */
export function clientLog(log: Log, clock: Clock = systemClock): (entry: LogEntry) => void {
  const lastAtMs = new Map<string, number>()
  return ({ namespace, level, log: { message, ...extra } }) => {
    const error = typeof extra['error'] === 'string' ? extra['error'] : undefined
    const text = error === undefined ? message : `${message}: ${error}`
    const fields: Record<string, unknown> = { client: namespace }
    for (const name of CONTEXT) if (extra[name] !== undefined) fields[name] = extra[name]
    if (level > logLevel.WARN || ROUTINE.some((part) => text.includes(part))) {
      log.debug(fields, text)
      return
    }
    const nowMs = clock.elapsedMs()
    if (nowMs - (lastAtMs.get(text) ?? -Infinity) < REPEAT_MS_MIN) return
    if (lastAtMs.size >= REMEMBERED_MAX) lastAtMs.clear()
    lastAtMs.set(text, nowMs)
    log.warn(fields, text)
  }
}
