import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Ends every process that still carries `name=value` in its environment, which only what we started has.
 * Two seconds are given to those that are on their way out. Linux only; elsewhere nothing is found.
 * @returns a line for each one that had to be killed
 */
export async function sweep(name: string, value: string): Promise<string[]> {
  const deadline = performance.now() + 2_000
  let left = carriers(`${name}=${value}`)
  while (left.length > 0 && performance.now() < deadline) {
    await sleep(100)
    left = carriers(`${name}=${value}`)
  }
  return left.map((pid) => {
    const line = `${pid} ${text(pid, 'cmdline').replaceAll('\0', ' ').slice(0, 200)}`
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // it ended by itself after all
    }
    return line
  })
}

/** The same at once and without waiting, for a run that is interrupted. */
export function sweepNow(name: string, value: string): void {
  for (const pid of carriers(`${name}=${value}`))
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // it ended by itself
    }
}

function carriers(marker: string): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .filter((pid) => text(Number(pid), 'environ').split('\0').includes(marker))
    .map(Number)
}

function text(pid: number, file: 'environ' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return '' // gone, or another user's
  }
}
