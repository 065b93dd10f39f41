import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FaultLine } from '../checker/capture.ts'
import type { World } from './world.ts'

/** Of the machine, not of the plan. */
export const STALL = 'stall_of_the_machine'
const TICK_MS = 50
const STALL_MS = 50

/**
 * Senders, or their proxies, live in this process: when it gets no turn on a crowded machine, what passes them is late, as
 * by a toxic. That is no fault of the run's plan, and no gateway's.
 */
export function watchStalls(target: string, urls: readonly string[]) {
  const lines: FaultLine[] = []
  let last = performance.now()
  const timer = setInterval(() => {
    const lateMs = performance.now() - last - TICK_MS
    last = performance.now()
    if (lateMs < STALL_MS) return
    const untilMs = Date.now()
    const observed = `${Math.round(lateMs)} ms without a turn`
    lines.push({ kind: STALL, target, fromMs: untilMs - lateMs, untilMs, observed, hinders: urls })
  }, TICK_MS)
  timer.unref()
  return {
    stop: () => {
      clearInterval(timer)
      return lines
    },
  }
}

/** Of the senders: a file of that name beside its stalls. */
export const SENDERS_CLOCK = 'senders.clock'

/** The same as senders and gateways themselves have seen it; a stop that was made on purpose is among them. */
export function stallsOfProcesses({ dir, gateways, gatewayUrls }: World): FaultLine[] {
  return [
    ...stallsIn(join(dir, SENDERS_CLOCK), 'senders', gatewayUrls),
    ...gateways.flatMap(({ name, clockFile }, n) => stallsIn(clockFile, name, gatewayUrls.slice(n, n + 1))),
  ]
}

/** What the process with that clock file has seen. */
export function stallsIn(clockFile: string, target: string, hinders: readonly string[]): FaultLine[] {
  const file = `${clockFile}.stalls`
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  return lines.flatMap((line): FaultLine[] => {
    if (line === '') return []
    const { fromMs, untilMs } = JSON.parse(line) as { fromMs: number; untilMs: number }
    const observed = `${Math.round(untilMs - fromMs)} ms without a turn`
    return [{ kind: STALL, target, fromMs, untilMs, observed, hinders }]
  })
}
