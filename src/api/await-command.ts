import type { Command } from '../store/read-commands.ts'

/** Waits for commands to be finished by their lanes. */
export interface CommandWaiter {
  /** @returns the finished command, or undefined: it is still pending after `waitMs`, or nobody could tell. */
  readonly wait: (commandId: number, waitMs: number) => Promise<Command | undefined>
  /** What NOTIFY said; a hint, as notifications are lost while the connection is. */
  readonly hear: (commandId: number) => void
  /** Whoever waits hears at once that nobody can tell, and so does whoever comes later. */
  readonly close: () => void
}

/** While somebody waits, all that is waited for is read in one query; without waiters nothing runs. */
const LOOK_MS = 100
/** Beyond this many the answer is 202 at once. */
const WAITERS_MAX = 200

export function createCommandWaiter(
  readCommands: (ids: readonly number[]) => Promise<readonly Command[]>,
  onTrouble: (error: unknown) => void,
): CommandWaiter {
  const waiting = new Map<number, Set<(command: Command | undefined) => void>>()
  let waiters = 0
  let timer: NodeJS.Timeout | undefined
  let isLooking = false
  let isClosed = false

  async function look() {
    if (isLooking || waiting.size === 0) return
    isLooking = true
    clearTimeout(timer)
    try {
      for (const command of await readCommands([...waiting.keys()]))
        if (command.status !== 'pending') for (const tell of waiting.get(command.id) ?? []) tell(command)
    } catch (error) {
      onTrouble(error)
    }
    isLooking = false
    if (waiting.size > 0) timer = setTimeout(() => void look(), LOOK_MS)
  }

  return {
    wait: (commandId, waitMs) => {
      if (isClosed || waitMs === 0 || waiters >= WAITERS_MAX) return Promise.resolve(undefined)
      waiters++
      return new Promise((resolve) => {
        const tell = (command: Command | undefined) => {
          clearTimeout(limit)
          others.delete(tell)
          if (others.size === 0) waiting.delete(commandId)
          waiters--
          resolve(command)
        }
        const limit = setTimeout(() => tell(undefined), waitMs)
        const others = waiting.get(commandId) ?? new Set()
        waiting.set(commandId, others.add(tell))
        if (timer === undefined || waiting.size === 1) void look()
      })
    },
    hear: (commandId) => {
      if (waiting.has(commandId)) void look()
    },
    close: () => {
      isClosed = true
      clearTimeout(timer)
      for (const tells of [...waiting.values()]) for (const tell of [...tells]) tell(undefined)
    },
  }
}
