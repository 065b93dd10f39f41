import type { Clock } from '../runtime/clock.ts'

/** What is done with jobs. `begin` takes the time and is bounded; `end` comes when the turn's others have begun too. */
export interface TurnWork<Job, Done> {
  readonly clock: Clock
  /** Jobs of one route wait for each other; routes take turns. */
  readonly routeOf: (job: Job) => object
  /** By `clock.elapsedMs`. A job whose turn comes later is missed, and costs nothing more. */
  readonly beginByMs: (job: Job) => number
  readonly begin: (job: Job, now: Date) => Done
  readonly end: (job: Job, done: Done, now: Date) => void
  readonly miss: (job: Job) => void
}

interface Line<Job> {
  readonly jobs: Job[]
  /** What it may still use of its share; below zero if a job took more than was left. */
  creditMs: number
}

/** Of one turn of the event loop: then sockets, timers and the health check have theirs. */
const TURN_JOBS_MAX = 64
const TURN_MS_MAX = 6
/**
 * While what waits would take longer than that, at the last turn's cost of a job: libuv (1.52) accepts one connection
 * a turn, so that whoever connects waits as many turns as others did before. Shorter turns always would cost 2 % of
 * all CPU; 256 genuine callbacks take 18 ms, on a busy machine 30.
 */
const CROWDED_MS = 40
const CROWDED_TURN_MS_MAX = 1
/** What a route may use before the next one's turn comes: 15 genuine callbacks, or one costly forgery. */
const SHARE_MS = 1

/**
 * Collects the jobs that arrive within one turn of the event loop and does them together: RSA verifications back to
 * back find OpenSSL's code and tables in the cache (64 to 72 instead of 100 to 124 µs a request were measured). When
 * there is more to do than a turn may take, every route that waits gets the same time, however many jobs it has and
 * whatever each costs (deficit round robin, Shreedhar and Varghese 1995): forgeries sent to one merchant must not keep
 * another's callbacks from their answer.
 */
export function createFairTurns<Job, Done>(work: TurnWork<Job, Done>): (job: Job) => void {
  const { clock } = work
  /** In the order of their turns. */
  const lines = new Map<object, Line<Job>>()
  let waiting = 0
  let jobMs = 0
  let scheduled = false
  const schedule = () => {
    if (scheduled) return
    scheduled = true
    setImmediate(run)
  }

  const run = () => {
    scheduled = false
    const now = clock.now()
    const startedMs = clock.elapsedMs()
    let atMs = startedMs
    const begun: Job[] = []
    const done: Done[] = []
    const untilMs = startedMs + (waiting * jobMs > CROWDED_MS ? CROWDED_TURN_MS_MAX : TURN_MS_MAX)
    const hasTime = () => begun.length < TURN_JOBS_MAX && atMs < untilMs

    for (const [route, line] of lines) {
      if (!hasTime()) break
      if (line.creditMs <= 0) line.creditMs += SHARE_MS
      while (line.creditMs > 0 && hasTime()) {
        const job = line.jobs.shift()
        if (job === undefined) break
        waiting -= 1
        if (work.beginByMs(job) <= atMs) work.miss(job)
        else {
          begun.push(job)
          done.push(work.begin(job, now))
        }
        const nowMs = clock.elapsedMs()
        line.creditMs -= nowMs - atMs
        atMs = nowMs
      }
      if (line.jobs.length === 0) lines.delete(route)
      else if (line.creditMs <= 0) {
        // To the end of the map, which this loop reaches too.
        lines.delete(route)
        lines.set(route, line)
      }
    }
    if (begun.length > 0) jobMs = (atMs - startedMs) / begun.length
    for (const [index, job] of begun.entries()) work.end(job, done[index] as Done, now)
    if (lines.size > 0) schedule()
  }

  return (job) => {
    waiting += 1
    const route = work.routeOf(job)
    const line = lines.get(route)
    if (line === undefined) lines.set(route, { jobs: [job], creditMs: 0 })
    else line.jobs.push(job)
    schedule()
  }
}
