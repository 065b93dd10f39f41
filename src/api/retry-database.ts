import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../runtime/clock.ts'
import { isDatabaseTrouble } from '../runtime/postgres-fault.ts'

const TRIES_MAX = 4
/** Beyond this the caller is better off with a 503 than with a longer wait. */
const BUDGET_MS = 2_000

/**
 * Runs idempotent work again after trouble around the database (a restart, a failover, a deadlock), with a doubling,
 * jittered wait. @throws the last error when four tries or two seconds did not do.
 */
export async function retryDatabase<T>(clock: Clock, work: () => Promise<T>, onRetry: () => void): Promise<T> {
  const startedMs = clock.elapsedMs()
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      const waitMs = 50 * 2 ** (tries - 1) * (0.5 + Math.random())
      const spentMs = clock.elapsedMs() - startedMs
      if (!isDatabaseTrouble(error) || tries === TRIES_MAX || spentMs + waitMs > BUDGET_MS) throw error
      onRetry()
      await delay(waitMs)
    }
  }
}
