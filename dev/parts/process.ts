import { execFileSync, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A pid alone may be another program by now; with the time it started it is one process for ever. */
export interface ProcessId {
  readonly pid: number
  readonly startedAt: string
}

export interface Launch {
  readonly command: string
  readonly args: readonly string[]
  /** Everything that the program prints goes here. */
  readonly logFile: string
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
}

interface ProcessRow {
  readonly parent: number
  readonly startedAt: string
}

/** Fields 4 and 22 of `/proc/<pid>/stat` (proc_pid_stat(5)); a zombie counts as gone. Elsewhere `ps` is asked. */
function processRow(pid: number): ProcessRow | undefined {
  try {
    if (process.platform === 'linux') {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (fields[0] === 'Z' || fields[0] === 'X') return undefined
      return { parent: Number(fields[1]), startedAt: fields[19] ?? '' }
    }
    const row = execFileSync('ps', ['-o', 'ppid=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
    return { parent: Number(row.split(/\s+/)[0]), startedAt: row.replace(/^\d+\s+/, '') }
  } catch {
    return undefined
  }
}

/** True while this very process lives (also when it is stopped by SIGSTOP). */
export const isAlive = (id: ProcessId): boolean => processRow(id.pid)?.startedAt === id.startedAt

/** This process. */
export const self = (): ProcessId => ({ pid: process.pid, startedAt: processRow(process.pid)?.startedAt ?? '' })

const launched = new Set<ProcessId>()

/**
 * From now until `release`, whatever this process launches dies with it, however it ends (SIGKILL apart).
 * Without it launched programs live on, which is what `up` wants once all of them answer.
 */
export function dieTogether(options = { signals: true }): { readonly release: () => void } {
  const onExit = () => {
    for (const id of [...launched].flatMap(family)) signal(id, 'SIGKILL')
  }
  const onSignal = () => process.exit(130)
  const signals = options.signals ? (['SIGINT', 'SIGTERM', 'SIGHUP'] as const) : []
  process.on('exit', onExit)
  for (const name of signals) process.on(name, onSignal)
  return {
    release: () => {
      process.off('exit', onExit)
      for (const name of signals) process.off(name, onSignal)
    },
  }
}

/** Starts a program in a session of its own, so that it outlives us and no Ctrl-C of ours reaches it. */
export function launch(what: Launch): ProcessId {
  mkdirSync(dirname(what.logFile), { recursive: true })
  const log = openSync(what.logFile, 'a')
  try {
    const child = spawn(what.command, what.args, {
      detached: true,
      stdio: ['ignore', log, log],
      ...(what.cwd === undefined ? {} : { cwd: what.cwd }),
      env: what.env ?? process.env,
      ...(what.user ?? {}),
    })
    child.on('error', () => undefined) // seen as "no pid" below
    child.unref()
    if (child.pid === undefined) throw new Error(`cannot run ${what.command}`)
    const id = { pid: child.pid, startedAt: processRow(child.pid)?.startedAt ?? '' }
    launched.add(id)
    return id
  } finally {
    closeSync(log)
  }
}

/** Sends a signal if this is still the process that we started. */
export function signal(id: ProcessId, name: NodeJS.Signals): void {
  if (!isAlive(id)) return
  try {
    process.kill(id.pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** The process and all that it started (Postgres's backends are no group of their postmaster). */
export function family(id: ProcessId): ProcessId[] {
  if (!isAlive(id)) return []
  const rows = new Map<number, ProcessRow>()
  const pids =
    process.platform === 'linux'
      ? readdirSync('/proc').filter((name) => /^\d+$/.test(name))
      : execFileSync('ps', ['-A', '-o', 'pid='], { encoding: 'utf8' }).trim().split(/\s+/)
  for (const pid of pids) {
    const row = processRow(Number(pid))
    if (row !== undefined) rows.set(Number(pid), row)
  }
  const members = new Set([id.pid])
  for (let grown = true; grown;) {
    grown = false
    for (const [pid, row] of rows)
      if (!members.has(pid) && members.has(row.parent)) {
        members.add(pid)
        grown = true
      }
  }
  return [...members].flatMap((pid) => {
    const row = rows.get(pid)
    return row === undefined ? [] : [{ pid, startedAt: row.startedAt }]
  })
}

/** Waits until the process is gone. @throws Error when it still lives after `deadlineMs` */
export async function gone(id: ProcessId, deadlineMs: number): Promise<void> {
  const end = performance.now() + deadlineMs
  while (isAlive(id)) {
    if (performance.now() > end) throw new Error(`process ${id.pid} still lives after ${deadlineMs} ms`)
    await sleep(10)
  }
}

/** Asks the process to end, then makes it: SIGKILL to whatever of its family is left after `graceMs`. */
export async function end(id: ProcessId, polite: NodeJS.Signals, graceMs: number): Promise<void> {
  const members = family(id)
  for (const member of members) signal(member, 'SIGCONT')
  signal(id, polite)
  try {
    await gone(id, graceMs)
  } catch {
    await kill(members)
  }
}

/** SIGKILL to each, and waits until they are gone. */
export async function kill(members: readonly ProcessId[]): Promise<void> {
  for (const member of members) signal(member, 'SIGKILL')
  await Promise.all(members.map((member) => gone(member, 10_000)))
}
