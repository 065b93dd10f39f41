import type { Log } from './log.ts'
import { describeError } from './log.ts'
import { BadConfiguration } from './config.ts'

/** A started process: what `main.ts` holds and a test can stop. */
export interface Running {
  /** Closes in order: intake first, then what it feeds, then what both stand on. Safe to call twice. */
  readonly stop: () => Promise<void>
}

const STOP_MS_MAX = 30_000

/**
 * Runs a process until SIGTERM or SIGINT, then stops it in order; a stop that hangs is ended after 30 s.
 * A bad configuration prints every problem and exits 2; any other surprise is logged and exits 1.
 */
export async function runProcess(start: () => Promise<{ running: Running; log: Log }>): Promise<void> {
  let log: Log | undefined
  const die = (error: unknown) => {
    if (error instanceof BadConfiguration) {
      process.stderr.write(`${error.message}\n`)
      process.exit(2)
    }
    if (log === undefined)
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    else
      log.fatal(
        { error: describeError(error), stack: error instanceof Error ? error.stack : undefined },
        'process ends',
      )
    process.exit(1)
  }
  process.on('uncaughtException', die)
  process.on('unhandledRejection', die)
  try {
    const started = await start()
    log = started.log
    const stop = (signal: string) => {
      started.log.info({ signal }, 'stopping')
      setTimeout(() => die(new Error(`did not stop within ${STOP_MS_MAX} ms`)), STOP_MS_MAX).unref()
      started.running.stop().then(() => process.exit(0), die)
    }
    process.once('SIGTERM', stop)
    process.once('SIGINT', stop)
  } catch (error) {
    die(error)
  }
}
