import { describeError } from '../runtime/log.ts'
import { findWork, type OpenRow } from './open-row.ts'
import type { Parts } from './parts.ts'
import { workOn } from './work-on.ts'

export interface WorkLoop {
  /** There may be something to do. */
  readonly wake: () => void
  /** Begins nothing more and waits for what is in work. */
  readonly stop: () => Promise<void>
}

export interface WorkLoopOptions {
  readonly lanes: () => readonly number[]
  readonly concurrency: number
  /** What became due meanwhile (a retry, a question) is found so often. */
  readonly pollMs?: number
}

/** Whoever has the row or the lock will be done soon. */
const BUSY_MS = 150
const TROUBLE_MS = { from: 200, to: 2_000 }

/** Works on what is due, several events side by side, never two of one order. */
export function createWorkLoop(parts: Parts, { lanes, concurrency, pollMs = 200 }: WorkLoopOptions): WorkLoop {
  const { pool, owner, log, metrics, elapsedMs } = parts
  const running = new Map<string, Promise<void>>()
  const notBefore = new Map<string, number>()
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
  const step = async (row: OpenRow) => {
    try {
      const worked = await workOn(parts, row)
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
      wake()
    }
  }
  const beginWhatIsDue = async () => {
    const free = concurrency - running.size
    if (free <= 0) return
    // Those in work may still look due.
    const found = await findWork(pool, owner.consumer, lanes(), free + running.size + notBefore.size)
    const nowMs = elapsedMs()
    const may = found.filter(({ eventId }) => !running.has(eventId) && (notBefore.get(eventId) ?? 0) <= nowMs)
    // The loop is being stopped while it waited for Postgres.
    if (!isStopping()) for (const row of may.slice(0, free)) running.set(row.eventId, step(row))
    for (const [eventId, ms] of notBefore) if (ms < nowMs - TROUBLE_MS.to) notBefore.delete(eventId)
  }
  const isStopping = () => stopping
  const wasWoken = () => isAwake
  const loop = (async () => {
    while (!isStopping()) {
      isAwake = false
      try {
        await beginWhatIsDue()
        troubles = 0
      } catch (error) {
        const waitMs = Math.min(TROUBLE_MS.from * 2 ** troubles++, TROUBLE_MS.to)
        metrics.troubles.inc({ consumer: owner.consumer })
        log.warn({ error: describeError(error) }, 'cannot look for work')
        await sleep(waitMs)
        continue
      }
      if (!wasWoken() && !isStopping()) await sleep(pollMs)
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
