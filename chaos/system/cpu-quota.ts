import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = '/sys/fs/cgroup/cpu'
const PERIOD_US = 100_000

/** A process that gets so much of one core, and no more. */
export interface CpuQuota {
  /** How often it was held up, and for how long in all. */
  readonly throttled: () => { readonly times: number; readonly ms: number }
  /** Gives it back what it had. May be called again. */
  readonly lift: () => void
}

/** Of the process that is asked for, in the hierarchy of the cpu controller (cgroup v1). */
function groupOf(pid: number | 'self'): string {
  const line = readFileSync(`/proc/${pid}/cgroup`, 'utf8')
    .split('\n')
    .find((one) => one.split(':')[1]?.split(',').includes('cpu') === true)
  if (line === undefined) throw new Error('no cpu controller of cgroup v1')
  return join(ROOT, line.split(':').slice(2).join(':'))
}

/** @param share of a core @throws where it may not be done */
export function limitCpu(name: string, pid: number, share: number): CpuQuota {
  const home = groupOf(pid)
  const group = makeGroup(name, share)
  const lift = () => {
    try {
      writeFileSync(join(home, 'cgroup.procs'), String(pid))
    } catch {
      // It has ended.
    }
    removeGroup(group)
  }
  process.once('exit', lift)
  try {
    writeFileSync(join(group, 'cgroup.procs'), String(pid))
  } catch (error) {
    lift()
    throw error
  }
  return {
    lift: () => {
      process.off('exit', lift)
      lift()
    },
    throttled: () => {
      const stat = readFileSync(join(group, 'cpu.stat'), 'utf8')
      const figure = (what: string) => Number(new RegExp(`^${what} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0)
      return { times: figure('nr_throttled'), ms: Math.round(figure('throttled_time') / 1_000_000) }
    },
  }
}

/** Why no process can be limited here; undefined: it can. */
export function whyNoQuota(): string | undefined {
  try {
    removeGroup(makeGroup(`paidonce-probe-${process.pid}`, 0.5))
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function makeGroup(name: string, share: number): string {
  const group = join(groupOf('self'), name)
  mkdirSync(group)
  try {
    writeFileSync(join(group, 'cpu.cfs_period_us'), String(PERIOD_US))
    writeFileSync(join(group, 'cpu.cfs_quota_us'), String(Math.round(share * PERIOD_US)))
  } catch (error) {
    removeGroup(group)
    throw error
  }
  return group
}

function removeGroup(group: string) {
  try {
    rmdirSync(group)
  } catch {
    // It has gone, or holds a process that is ending.
  }
}
