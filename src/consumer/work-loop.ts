import { describeError } from '../runtime/log.ts'
import { findWork, type OpenRow } from './open-row.ts'
import type { Parts } from './parts.ts'
import { careFor, workWithCare } from './work-with-care.ts'

export interface WorkLoop {
  /** There may be something to do. */
  readonly wake: () => void
  /** Begins nothing more and waits for what is in work. */
  readonly stop: () => Promise<void>
}

export interface WorkLoopOptions {
  readonly lanes: () => readonly number[]
  readonly concurrency: number
  /** Of each lane the last row that was open when a process ended that had it. */
  readonly watchedTo?: (lane: number) => number
  /** What became due meanwhile (a retry, a question) is found so often. */
  readonly pollMs?: number
}

/** Whoever has the row or the lock will be done soon. */
const BUSY_MS = 150
/** Events found at once, times those in work. */
const AHEAD = 2
const TROUBLE_MS = { from: 200, to: 2_000 }

/** Works on what is due, several events side by side, never two of one order. */
export function createWorkLoop(
  parts: Parts,
  { lanes, concurrency, watchedTo = () => 0, pollMs = 200 }: WorkLoopOptions,
): WorkLoop {
  const { pool, owner, log, metrics, elapsedMs } = parts
  const running = new Map<string, Promise<void>>()
  const notBefore = new Map<string, number>()
  /** Something is in work that may have ended a process: nothing else begins. */
  let isAlone = false
  let stopping = false
  let wakeUp: () => void = () => undefined
  let isAwake = false
  let troubles = 0

  const wake = () => {
    isAwake = true
    wakeUp()
  }
  const sleep = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const careOf = (row: OpenRow) => careFor(row, parts.run, watchedTo(row.lane))
  const step = async (row: OpenRow) => {
    try {
      const worked = await workWithCare(parts, row, careOf(row))
      metrics.worked.inc({ consumer: owner.consumer, outcome: worked })
      if (worked === 'busy') notBefore.set(row.eventId, elapsedMs() + BUSY_MS)
      else notBefore.delete(row.eventId)
      troubles = 0
    } catch (error) {
      metrics.troubles.inc({ consumer: owner.consumer })
      log.warn({ error: describeError(error), eventId: row.eventId }, 'an event waits for Postgres')
      notBefore.set(row.eventId, elapsedMs() + TROUBLE_MS.to)
    } finally {
      running.delete(row.eventId)
      isAlone = false
      wake()
    }
  }
  /** Found and not begun; perhaps no longer as they were, which is seen when their row is locked. */
  let queue: OpenRow[] = []
  let lookAgainAtMs = -Infinity
  const look = async () => {
    const startedMs = elapsedMs()
    // Those in work may still look due.
    const limit = concurrency * AHEAD + running.size + notBefore.size
    queue = await findWork(pool, owner.consumer, lanes(), limit)
    const nowMs = elapsedMs()
    // Looking takes a third of the time at most, however much waits.
    lookAgainAtMs = nowMs + 2 * (nowMs - startedMs)
    for (const [eventId, ms] of notBefore) if (ms < nowMs - TROUBLE_MS.to) notBefore.delete(eventId)
  }
  /** @returns how long to wait if nothing wakes us */
  const beginWhatIsDue = async (): Promise<number> => {
    if (running.size >= concurrency) return pollMs
    const nowMs = elapsedMs()
    if (queue.length === 0 && running.size > 0 && nowMs < lookAgainAtMs) return lookAgainAtMs - nowMs
    if (queue.length === 0) await look()
    // It may have been stopped meanwhile.
    while (queue.length > 0 && running.size < concurrency && !isStopping() && !hasOneAlone()) {
      const [row] = queue
      const mustWait = row === undefined || running.has(row.eventId) || (notBefore.get(row.eventId) ?? 0) > elapsedMs()
      const needsAll = !mustWait && careOf(row) === 'alone'
      if (needsAll && running.size > 0) break
      queue.shift()
      if (mustWait) continue
      isAlone = needsAll
      running.set(row.eventId, step(row))
    }
    return pollMs
  }
  const isStopping = () => stopping
  const hasOneAlone = () => isAlone
  const wasWoken = () => isAwake
  const loop = (async () => {
    while (!isStopping()) {
      isAwake = false
      let waitMs: number
      try {
        waitMs = await beginWhatIsDue()
        troubles = 0
      } catch (error) {
        metrics.troubles.inc({ consumer: owner.consumer })
        log.warn({ error: describeError(error) }, 'cannot look for work')
        await sleep(Math.min(TROUBLE_MS.from * 2 ** troubles++, TROUBLE_MS.to))
        continue
      }
      if (!wasWoken() && !isStopping()) await sleep(waitMs)
    }
  })()
  return {
    wake,
    stop: async () => {
      stopping = true
      wake()
      await loop
      await Promise.all(running.values())
    },
  }
}
