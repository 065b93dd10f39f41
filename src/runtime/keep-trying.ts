import { setTimeout as delay } from 'node:timers/promises'
import { BadConfiguration } from './config.ts'
import { describeError, type Log } from './log.ts'

const FIRST_MS = 250
const LAST_MS = 5_000

/**
 * Runs `work` until it succeeds: a process whose Kafka or registry is away waits for it instead of ending and starting
 * again. Pauses double from 250 ms to 5 s, with jitter, so that many processes do not come back at once.
 * @throws BadConfiguration at once, as waiting cannot help; and the abort reason when `signal` is aborted.
 */
export async function keepTrying<T>(what: string, work: () => Promise<T>, log: Log, signal: AbortSignal): Promise<T> {
  for (let pauseMs = FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, LAST_MS)) {
    signal.throwIfAborted()
    try {
      return await work()
    } catch (error) {
      if (error instanceof BadConfiguration) throw error
      log.warn({ error: describeError(error), retryMs: pauseMs }, `${what} failed: trying again`)
    }
    await delay(pauseMs * (0.5 + Math.random() / 2), undefined, { signal })
  }
}
