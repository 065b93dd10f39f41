import { parentPort, workerData } from 'node:worker_threads'
import type { HistoryResult } from './history/run-history.ts'
import { MUTANTS } from './mutants/all.ts'
import { loadAs, type Mutant } from './mutants/mutant.ts'
import { createTally } from './world/tally.ts'

/** What a worker is to run: `first`, `first + step`, … */
export interface WorkerTask {
  readonly first: number
  readonly step: number
  readonly count: number
  /** Of these at least so many, and then until so much time has passed. */
  readonly least: number
  readonly msMax: number
  readonly mutant?: string | undefined
  readonly stopAtFailure: boolean
}
export interface WorkerReport {
  readonly histories: number
  readonly steps: number
  readonly events: number
  readonly faults: number
  readonly ms: number
  /** Of all histories, in whatever order they ran. */
  readonly digest: number
  readonly failures: readonly HistoryResult[]
  /** What faults have really done. */
  readonly tally: Readonly<Record<string, number>>
}

const FAILURES_KEPT = 20

/** The same for the same histories, whoever ran which. */
function digestOf({ seed, digest }: HistoryResult): number {
  let hash = seed | 0
  for (const char of digest) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
  return hash >>> 0
}

async function work({ first, step, count, least, msMax, mutant, stopAtFailure }: WorkerTask): Promise<WorkerReport> {
  let also: Mutant['faults']
  let blindTo: Mutant['blindTo']
  if (mutant !== undefined) {
    const found = MUTANTS.find(({ name }) => name === mutant)
    if (found === undefined) throw new Error(`no mutant ${mutant}`)
    loadAs(found)
    also = found.faults
    blindTo = found.blindTo
  }
  const { runHistory } = await import('./history/run-history.ts')
  let stray: Error | undefined
  process.on('unhandledRejection', (error: Error) => (stray ??= error))
  const startedMs = performance.now()
  const report = { histories: 0, steps: 0, events: 0, faults: 0, digest: 0, failures: [] as HistoryResult[] }
  const tally = createTally()
  for (let index = 0; index < count && (index < least || performance.now() - startedMs < msMax); index++) {
    let result = await runHistory(first + index * step, { also, blindTo })
    if (stray !== undefined && result.failure === undefined)
      result = { ...result, failure: { oracle: 'unhandled', detail: stray.stack ?? stray.message } }
    stray = undefined
    report.histories++
    report.steps += result.steps
    report.events += result.events
    report.faults += result.faults
    for (const [what, times] of Object.entries(result.tally)) tally.count(what, times)
    report.digest = (report.digest + digestOf(result)) % 0x1_0000_0000
    if (result.failure === undefined) continue
    if (report.failures.length < FAILURES_KEPT) report.failures.push(result)
    if (stopAtFailure) break
  }
  return { ...report, tally: tally.all(), ms: performance.now() - startedMs }
}

parentPort?.postMessage(await work(workerData as WorkerTask))
