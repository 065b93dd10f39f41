import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { choosePort } from '../../dev/parts/ports.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const READY_MS_MAX = 90_000
/** What a supervisor waits before it starts again what ended by itself. */
const RESTART_MS = 500

/** A process of the product under a supervisor, always on the same ports. */
export interface Managed {
  readonly name: string
  readonly url: string
  readonly metricsUrl: string
  readonly clockFile: string
  readonly pid: () => number | undefined
  readonly isReady: () => Promise<boolean>
  readonly untilReady: () => Promise<void>
  readonly signal: (name: NodeJS.Signals) => void
  /** Ends it and lets nobody start it again until `start`. @returns its exit code; null after a signal */
  readonly end: (name: NodeJS.Signals) => Promise<number | null>
  readonly start: () => Promise<void>
  /** The state letter of the kernel: `T` is stopped. */
  readonly state: () => string | undefined
  readonly rssBytes: () => number | undefined
  /** Files, sockets and pipes that it has open. */
  readonly handles: () => number | undefined
  /** How often the supervisor had to start it again. */
  readonly restarts: () => number
}

export interface ManagedOptions {
  readonly name: string
  readonly main: string
  readonly env: NodeJS.ProcessEnv
  readonly dir: string
}

/** Steps a process's clock, and writes down when it got no turn. */
export const CLOCK_STEP = join(ROOT, 'chaos', 'system', 'clock-step.ts')

const ends: (() => void)[] = []
process.on('exit', () => {
  for (const end of ends) end()
})

export async function manage({ name, main, env, dir }: ManagedOptions): Promise<Managed> {
  const [port, metricsPort] = [await choosePort(), await choosePort()]
  const clockFile = join(dir, `${name}.clock`)
  const logFile = join(dir, 'logs', `${name}.log`)
  mkdirSync(join(dir, 'logs'), { recursive: true })
  let child: ChildProcess | undefined
  let exited: Promise<number | null> = Promise.resolve(null)
  let isWanted = false
  let restarts = 0

  const mayRestart = (ended: ChildProcess) => child === ended && isWanted
  const launch = () => {
    const log = openSync(logFile, 'a')
    const started = spawn(process.execPath, ['--import', CLOCK_STEP, join(ROOT, main)], {
      env: { ...env, CLOCK_FILE: clockFile, PORT: String(port), METRICS_PORT: String(metricsPort) },
      stdio: ['ignore', log, log],
    })
    closeSync(log)
    child = started
    exited = new Promise((resolve) => started.once('close', resolve))
    void exited.then(async () => {
      if (!mayRestart(started)) return
      await sleep(RESTART_MS)
      if (!mayRestart(started)) return
      restarts += 1
      launch()
    })
  }
  const isAlive = () => child?.exitCode === null && child.signalCode === null
  const proc = (file: string) => {
    try {
      return isAlive() ? readFileSync(`/proc/${child?.pid ?? 0}/${file}`, 'utf8') : undefined
    } catch {
      return undefined
    }
  }
  ends.push(() => child?.kill('SIGKILL'))

  const metricsUrl = `http://127.0.0.1:${metricsPort}`
  const isReady = () =>
    fetch(`${metricsUrl}/readyz`, { signal: AbortSignal.timeout(1_000) }).then(
      async (answer) => {
        await answer.arrayBuffer()
        return answer.ok
      },
      () => false,
    )
  return {
    ...{ name, url: `http://127.0.0.1:${port}`, metricsUrl, clockFile, isReady },
    pid: () => (isAlive() ? child?.pid : undefined),
    untilReady: async () => {
      const deadline = performance.now() + READY_MS_MAX
      while (!(await isReady())) {
        if (performance.now() > deadline)
          throw new Error(`${name} is not ready after ${READY_MS_MAX} ms: see ${logFile}`)
        await sleep(100)
      }
    },
    signal: (signal) => void child?.kill(signal),
    end: (signal) => {
      isWanted = false
      if (isAlive()) child?.kill(signal)
      return exited
    },
    start: () => {
      isWanted = true
      if (!isAlive()) launch()
      return Promise.resolve()
    },
    state: () =>
      proc('stat')
        ?.replace(/^.*\) /, '')
        .charAt(0),
    rssBytes: () => {
      const kib = /^VmRSS:\s+(\d+)/m.exec(proc('status') ?? '')?.[1]
      return kib === undefined ? undefined : Number(kib) * 1_024
    },
    handles: () => {
      try {
        return isAlive() ? readdirSync(`/proc/${child?.pid ?? 0}/fd`).length : undefined
      } catch {
        return undefined
      }
    },
    restarts: () => restarts,
  }
}
