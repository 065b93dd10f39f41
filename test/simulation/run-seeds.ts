import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { WorkerReport, WorkerTask } from './worker.ts'
import { sumOf } from './world/tally.ts'

const WORKER = join(import.meta.dirname, 'worker.ts')
const MS_MAX = 24 * 3_600_000

export interface SeedsOptions {
  readonly first: number
  readonly count: number
  /** So many in any case, and then until so much time has passed; by default all. */
  readonly least?: number
  readonly msMax?: number
  /** Threads; each takes every n-th seed. */
  readonly threads?: number
}

export function runTask(task: WorkerTask): Promise<WorkerReport> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(WORKER, { workerData: task })
    worker.once('message', (report: WorkerReport) => {
      resolve(report)
      void worker.terminate()
    })
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`the worker ended with ${code}`)))
  })
}

/** Runs histories side by side; the result does not depend on how they were shared out. */
export async function runSeeds({
  first,
  count,
  least = 0,
  msMax = MS_MAX,
  threads = 2,
}: SeedsOptions): Promise<WorkerReport> {
  const reports = await Promise.all(
    Array.from({ length: threads }, (_, thread) =>
      runTask({
        ...{ first: first + thread, step: threads, msMax, stopAtFailure: false },
        count: Math.ceil((count - thread) / threads),
        least: Math.ceil(least / threads),
      }),
    ),
  )
  const sum = (pick: (report: WorkerReport) => number) => reports.reduce((total, report) => total + pick(report), 0)
  return {
    histories: sum((report) => report.histories),
    steps: sum((report) => report.steps),
    events: sum((report) => report.events),
    faults: sum((report) => report.faults),
    digest: sum((report) => report.digest) % 0x1_0000_0000,
    ms: Math.max(...reports.map((report) => report.ms)),
    failures: reports.flatMap((report) => report.failures),
    tally: sumOf(reports.map((report) => report.tally)),
  }
}

/** One line for people and for scripts. */
export const summaryOf = ({ histories, failures, steps, events, faults, ms, digest }: WorkerReport): string =>
  `${histories} histories, ${failures.length} failed: ${events} events, ${faults} faults, ` +
  `${steps} steps in ${Math.round(ms / 1_000)} s (${(ms / Math.max(histories, 1)).toFixed(1)} ms each); digest ${digest.toString(16)}`
