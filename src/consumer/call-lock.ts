import { randomUUID } from 'node:crypto'

/** The commands that the lock needs; every one ends within a deadline. @throws Error Redis is away, slow or confused */
export interface LockCommands {
  /** `SET key value NX EX seconds`. @returns whether it was set */
  readonly setIfAbsent: (key: string, value: string, seconds: number) => Promise<boolean>
  readonly runScript: (script: string, key: string, args: readonly string[]) => Promise<unknown>
  readonly close: () => Promise<void>
}

export type Taken =
  | { readonly kind: 'held' | 'open'; readonly release: () => Promise<void> }
  /** Somebody else works on the order, or died less than the lock's time ago. */
  | { readonly kind: 'taken' }

/**
 * Keeps two processes from waiting for each other over one order: the second one comes back later instead of holding a
 * connection. Nothing rests on it: who may call is decided by the row in Postgres. So without Redis, and where a lock
 * outlives its own time, work goes on without it.
 */
export interface CallLock {
  readonly take: (outTradeNo: string) => Promise<Taken>
  readonly close: () => Promise<void>
}

export const LOCK_PREFIX = 'pay_callback_lock:'

/** Only the holder's own: a lock that expired and is another's by now must stay. */
const DELETE_OWN = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`
const RENEW_OWN = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('expire', KEYS[1], ARGV[2]) end return 0`

export interface LockOptions {
  readonly seconds: number
  readonly elapsedMs: () => number
  readonly onOutcome: (outcome: 'held' | 'taken' | 'outlived' | 'away' | 'lost') => void
}

export const NO_LOCK: CallLock = {
  take: () => Promise.resolve({ kind: 'open', release: () => Promise.resolve() }),
  close: () => Promise.resolve(),
}

export function createCallLock(redis: LockCommands, { seconds, elapsedMs, onOutcome }: LockOptions): CallLock {
  /** Since when each order is found taken: a dead owner's lock is gone after its time. */
  const takenSinceMs = new Map<string, number>()
  let forgetAtMs = 0
  const outlivedMs = seconds * 1_000 + 1_000

  /** Most were done by whoever had them, and are never asked for again here. */
  const forgetOld = () => {
    if (elapsedMs() < forgetAtMs) return
    forgetAtMs = elapsedMs() + outlivedMs
    for (const [key, ms] of takenSinceMs) if (elapsedMs() - ms > 2 * outlivedMs) takenSinceMs.delete(key)
  }
  const release = async (key: string, token: string) => {
    await redis.runScript(DELETE_OWN, key, [token]).catch(() => undefined)
  }
  const renewed = (key: string, token: string) =>
    setInterval(
      () =>
        void redis.runScript(RENEW_OWN, key, [token, String(seconds)]).then(
          (kept) => {
            if (kept !== 1) onOutcome('lost')
          },
          () => onOutcome('away'),
        ),
      (seconds * 1_000) / 3,
    )
  return {
    take: async (outTradeNo) => {
      const key = LOCK_PREFIX + outTradeNo
      const token = randomUUID()
      let isSet: boolean
      try {
        isSet = await redis.setIfAbsent(key, token, seconds)
      } catch {
        onOutcome('away')
        // It may have been set all the same.
        return { kind: 'open', release: () => release(key, token) }
      }
      if (isSet) {
        takenSinceMs.delete(key)
        onOutcome('held')
        const timer = renewed(key, token)
        return {
          kind: 'held',
          release: () => {
            clearInterval(timer)
            return release(key, token)
          },
        }
      }
      const sinceMs = takenSinceMs.get(key) ?? elapsedMs()
      if (elapsedMs() - sinceMs < outlivedMs) {
        forgetOld()
        takenSinceMs.set(key, sinceMs)
        onOutcome('taken')
        return { kind: 'taken' }
      }
      takenSinceMs.delete(key)
      onOutcome('outlived')
      return { kind: 'open', release: () => Promise.resolve() }
    },
    close: () => redis.close(),
  }
}
