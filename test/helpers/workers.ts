import { randomUUID } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { LOCAL_DIR } from '../../dev/parts/state.ts'
import type { CrashPoint } from '../../src/consumer/crash-points.ts'
import { startChild, type Child } from './child.ts'
import type { TestMerchant } from './merchant.ts'
import { until } from './until.ts'

const DIR = join(LOCAL_DIR, 'faults')
type Env = Readonly<Record<string, string>>

/** Workers in processes of their own. */
export interface Workers {
  readonly start: (more?: Env) => Child
  /** Starts one that ends, or freezes, at the point (crash-here.ts), and waits until it is there. */
  readonly startCrashing: (point: CrashPoint, action: 'kill' | 'stop', more?: Env) => Promise<Child>
  readonly killAll: () => Promise<unknown>
}

/** @param file the program, in this directory */
export function createWorkers(file: string, env: (more: Env) => NodeJS.ProcessEnv): Workers {
  const path = new URL(file, import.meta.url).pathname
  const children: Child[] = []
  const start = (more: Env = {}) => {
    const child = startChild(path, env({ LOG_LEVEL: 'info', METRICS_PORT: '0', ...more }))
    children.push(child)
    return child
  }
  return {
    start,
    startCrashing: async (point, action, more = {}) => {
      mkdirSync(DIR, { recursive: true })
      const marker = join(DIR, randomUUID())
      const child = start({ CRASH_AT: point, CRASH_ACTION: action, CRASH_MARKER: marker, ...more })
      await until(`a worker reaches ${point}`, () => existsSync(marker), 60_000)
      rmSync(marker)
      if (action === 'kill') await child.exited
      return child
    },
    killAll: () => Promise.all(children.map((child) => child.kill())),
  }
}

export const untilRuns = (child: Child, deadlineMs = 60_000) =>
  child.said('that it runs', (line) => line['msg'] === 'consumer runs', deadlineMs)

/** A directory as `WORKER_KEYS_DIR` has it, for the merchant `shop`. */
export function createWorkerKeys(merchant: TestMerchant): { readonly dir: string; readonly remove: () => void } {
  mkdirSync(DIR, { recursive: true })
  const dir = mkdtempSync(join(DIR, 'worker-keys-'))
  cpSync(join(merchant.dir, 'worker.key'), join(dir, 'shop.key'))
  return { dir, remove: () => rmSync(dir, { recursive: true }) }
}
