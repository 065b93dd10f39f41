import type { Log } from '../runtime/log.ts'
import { logged, refusalFields, type Refusal } from './rejection.ts'

/** Of one reason at one merchant's address. */
const LINES_PER_SECOND_MAX = 50
/** Of all together; then each gets its first line of the second, as there are as many as merchants at most. */
const LINES_OF_ALL_MAX = 500
/** Lines that count what was left out, a second. */
const SUMMARIES_MAX = 50

export interface RefusalContext {
  readonly provider: string
  readonly merchant?: string
  /** Not a callback but a buyer that was sent back. */
  readonly at?: 'return'
}

interface Window {
  readonly of: { readonly reason: string; readonly provider: string; readonly merchant?: string }
  lines: number
  suppressed: number
}

/**
 * One line per refusal, with its reason; at most 50 a second of one reason at one merchant's address, then one line that
 * counts the rest, as writing lines costs more than refusing. A flood at one address hides no line of another. The
 * counters miss none.
 */
export function createRefusalLog(log: Log, elapsedMs: () => number) {
  /** Of this second: no key outlives it, and none comes from a request but a known merchant's name. */
  const windows = new Map<string, Window>()
  let [startedMs, lines] = [-Infinity, 0]

  const nextSecond = (nowMs: number) => {
    const full = [...windows.values()].filter(({ suppressed }) => suppressed > 0)
    full.sort((a, b) => b.suppressed - a.suppressed)
    for (const { of, suppressed } of full.slice(0, SUMMARIES_MAX))
      log.warn({ ...of, suppressed }, 'refusals not logged one by one')
    const suppressed = full.slice(SUMMARIES_MAX).reduce((sum, window) => sum + window.suppressed, 0)
    if (suppressed > 0) log.warn({ suppressed }, 'refusals not logged one by one, of others')
    windows.clear()
    startedMs = nowMs
    lines = 0
  }

  return (refusal: Refusal, context: RefusalContext): void => {
    const nowMs = elapsedMs()
    if (nowMs - startedMs >= 1_000) nextSecond(nowMs)
    const of = { reason: refusal.kind, ...context }
    const key = `${of.reason} ${of.provider} ${of.merchant ?? ''} ${of.at ?? ''}`
    let window = windows.get(key)
    if (window === undefined) windows.set(key, (window = { of, lines: 0, suppressed: 0 }))
    if (window.lines >= LINES_PER_SECOND_MAX || (lines >= LINES_OF_ALL_MAX && window.lines > 0)) {
      window.suppressed += 1
      return
    }
    window.lines += 1
    lines += 1
    const { level, words } = logged(refusal, context.provider)
    log[level]({ ...of, ...refusalFields(refusal, context.provider) }, words)
  }
}
