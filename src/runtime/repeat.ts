import { describeError, type Log } from './log.ts'

/**
 * Runs `work` again and again, `everyMs` after it ended; an error is logged and changes nothing. The first run comes
 * after `everyMs`.
 * @returns stops it; a run that is going on ends by itself
 */
export function repeat(what: string, everyMs: number, log: Log, work: () => Promise<void> | void): () => void {
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const plan = () => {
    if (!isStopped) timer = setTimeout(run, everyMs)
  }
  const run = () => {
    Promise.resolve()
      .then(work)
      .catch((error: unknown) => log.warn({ error: describeError(error) }, `${what} failed`))
      .finally(plan)
  }
  plan()
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}
