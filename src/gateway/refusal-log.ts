import type { Log } from '../runtime/log.ts'
import { describeRefusal, refusalFields, type Refusal } from './rejection.ts'

const LINES_PER_SECOND_MAX = 50

export interface RefusalContext {
  readonly provider: string
  readonly merchant?: string
  /** Not a callback but a buyer that was sent back. */
  readonly at?: 'return'
}

/**
 * One line per refusal, with its reason; at most 50 a second of one reason, then one line that counts the rest, as
 * writing lines costs more than refusing. The counters miss none.
 */
export function createRefusalLog(log: Log, elapsedMs: () => number) {
  const windows = new Map<string, { startedMs: number; lines: number; suppressed: number }>()
  return (refusal: Refusal, context: RefusalContext): void => {
    const { reason, level } = describeRefusal(refusal)
    const nowMs = elapsedMs()
    let window = windows.get(reason)
    if (window === undefined || nowMs - window.startedMs >= 1_000) {
      if (window !== undefined && window.suppressed > 0)
        log.warn({ reason, suppressed: window.suppressed }, 'refusals not logged one by one')
      window = { startedMs: nowMs, lines: 0, suppressed: 0 }
      windows.set(reason, window)
    }
    if (window.lines >= LINES_PER_SECOND_MAX) {
      window.suppressed += 1
      return
    }
    window.lines += 1
    log[level]({ reason, ...context, ...refusalFields(refusal, context.provider) }, 'callback refused')
  }
}
