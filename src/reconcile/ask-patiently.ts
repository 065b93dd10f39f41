import { setTimeout as delay } from 'node:timers/promises'
import type { BillPlace } from '../providers/query.ts'
import { systemClock, type Clock } from '../runtime/clock.ts'

export interface Patience {
  /** What one answer may take. */
  readonly askMsMax: number
  /** How many answers may fail. */
  readonly attemptsMax: number
  /** No wait ends later than that after the first question. */
  readonly allMsMax: number
}

/** For what is asked about once, by a command that somebody waits for. */
export const BILL_PATIENCE: Patience = { askMsMax: 15_000, attemptsMax: 4, allMsMax: 120_000 }

/**
 * Asks, waits, and asks again while the answer is `try_later`. To wait for a turn, by our own limit of questions a second
 * or by the provider's, is no failed attempt. Never asks before the time that the answer says: what is said to be later
 * than there is patience for is given back at once.
 * @param ask gets a signal that ends this one question
 * @param signal ends all of it
 * @returns the last answer
 */
export async function askPatiently<Answer extends BillPlace>(
  ask: (signal: AbortSignal) => Promise<Answer>,
  { askMsMax, attemptsMax, allMsMax }: Patience,
  signal: AbortSignal,
  clock: Pick<Clock, 'elapsedMs'> = systemClock,
  wait: (ms: number, signal: AbortSignal) => Promise<unknown> = (ms, ending) =>
    delay(ms, undefined, { signal: ending }),
): Promise<Answer> {
  const startedMs = clock.elapsedMs()
  for (let failed = 0; ;) {
    const answer = await ask(AbortSignal.any([signal, AbortSignal.timeout(askMsMax)]))
    if (answer.kind !== 'try_later' || signal.aborted) return answer
    const saidMs = answer.afterMs ?? 0
    // "Too much, and go on at once" is no turn: there would be no end of asking.
    if (answer.reason !== 'rate_limited' || saidMs <= 0) failed += 1
    const waitMs = spread(saidMs > 0 ? saidMs : 250 * 2 ** failed)
    if (failed >= attemptsMax || clock.elapsedMs() - startedMs + waitMs > allMsMax) return answer
    await wait(waitMs, signal).catch(() => undefined)
  }
}

/** Whoever waits for one turn wakes at another time than the others. */
const spread = (ms: number) => ms * (1 + Math.random() / 2)
