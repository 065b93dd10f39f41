import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * For a process under test. It crashes at the point `CRASH_AT`, on the `CRASH_PASSAGE`-th passage; or at what the file
 * `CRASH_CONTROL` says, once, as often as it is written; or, with `CRASH_EACH`, it is held up at the first passage of
 * every point. It always leaves a marker first, so that a point that was never reached is noticed.
 */
export const CRASH_ACTIONS = ['kill', 'stop', 'delay'] as const
export type CrashAction = (typeof CRASH_ACTIONS)[number]
export interface Armed {
  readonly point: string
  readonly action: CrashAction
  readonly marker: string
  readonly delayMs: number
}

const { CRASH_AT, CRASH_ACTION = 'kill', CRASH_MARKER = '', CRASH_PASSAGE = '1' } = process.env
const { CRASH_CONTROL = '', CRASH_EACH = '', CRASH_DELAY_MS = '0' } = process.env
let passages = 0
const passed = new Set<string>()

/** Dies, freezes or throws, as `CRASH_ACTION` says. */
export function crash(): void {
  writeFileSync(CRASH_MARKER, `${process.pid}\n`)
  if (CRASH_ACTION === 'throw') throw new Error(`crash at ${CRASH_AT ?? ''}`)
  process.kill(process.pid, CRASH_ACTION === 'stop' ? 'SIGSTOP' : 'SIGKILL')
}

/** @returns how long to hold up whoever passes; undefined: not at all */
function act(point: string): number | undefined {
  if (point === CRASH_AT && ++passages === Number(CRASH_PASSAGE)) crash()
  if (CRASH_EACH !== '' && !passed.has(point)) {
    passed.add(point)
    writeFileSync(join(CRASH_EACH, point), '')
    return Number(CRASH_DELAY_MS)
  }
  const armed = armedFor(point)
  if (armed === undefined) return undefined
  writeFileSync(armed.marker, '')
  if (armed.action === 'delay') return armed.delayMs
  process.kill(process.pid, armed.action === 'stop' ? 'SIGSTOP' : 'SIGKILL')
  return undefined
}

function armedFor(point: string): Armed | undefined {
  if (CRASH_CONTROL === '' || !existsSync(CRASH_CONTROL)) return undefined
  const armed = JSON.parse(readFileSync(CRASH_CONTROL, 'utf8')) as Armed
  if (armed.point !== point) return undefined
  renameSync(CRASH_CONTROL, `${CRASH_CONTROL}.done`)
  return armed
}

/** Where a promise is waited for. */
export const reachToCrash = (point: string): void | Promise<void> => {
  const delayMs = act(point)
  if (delayMs !== undefined) return sleep(delayMs)
}

/** On a hot path, which waits for nothing: there a delay is one of the whole process, as a long collection would be. */
export const reachToCrashNow = (point: string): void => {
  const delayMs = act(point)
  if (delayMs !== undefined) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, delayMs)
}
