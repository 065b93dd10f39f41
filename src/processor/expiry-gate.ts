import { describeError, type Log } from '../runtime/log.ts'

/** The broker, as a gate needs it. */
export interface LogEnd {
  /** The log's end offset; asked only when an expiry is due and no end is remembered. */
  readonly readEnd: () => Promise<number>
  readonly log: Log
}

/**
 * A payment that lies in the log already must not find its order closed: expiries wait until the lane has applied
 * everything up to an end that was read after the clock had passed them. That end is remembered, since a busy lane never
 * reaches one that is read anew each time. One gate per incarnation.
 */
export interface ExpiryGate {
  /**
   * Up to which time expiries are worth looking for, in milliseconds.
   * @param passedMs what the clock has passed, the grace included
   * @returns null: none yet, the lane has not come to the end that is remembered
   */
  readonly askedMs: (passedMs: number, next: number) => number | null
  /** Whether the expiries that were found may run. While no broker tells the end, they wait. */
  readonly opens: (
    found: { readonly isAny: boolean; readonly askedMs: number | null },
    next: number,
  ) => Promise<boolean>
}

export function createExpiryGate({ readEnd, log }: LogEnd): ExpiryGate {
  let mark: { readonly dueMs: number; readonly end: number } | undefined
  return {
    askedMs: (passedMs, next) => {
      if (mark === undefined) return passedMs
      return next >= mark.end ? mark.dueMs : null
    },
    opens: async ({ isAny, askedMs }, next) => {
      if (askedMs === null) return false
      if (!isAny) {
        mark = undefined // All that waited for this end are done; whatever is due later needs another.
        return false
      }
      try {
        mark ??= { dueMs: askedMs, end: await readEnd() }
      } catch (error) {
        log.warn({ error: describeError(error) }, 'expiries wait: the end of the log is unknown')
        return false
      }
      return next >= mark.end
    },
  }
}
