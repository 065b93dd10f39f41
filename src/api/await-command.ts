import type { Command } from '../store/read-commands.ts'

/** Waits for rows that other processes change. */
export interface Waiter<Item> {
  /** @returns the first that is as wanted, or undefined: none was within `waitMs`, or nobody could tell. */
  readonly waitUntil: (id: number, isWanted: (item: Item) => boolean, waitMs: number) => Promise<Item | undefined>
  /** What NOTIFY said; a hint, as notifications are lost while the connection is. */
  readonly hear: (id: number) => void
  /** Whoever waits hears at once that nobody can tell, and so does whoever comes later. */
  readonly close: () => void
}

/** While somebody waits, all that is waited for is read in one query; without waiters nothing runs. */
const LOOK_MS = 100
/** Beyond this many the answer is 202 at once. */
const WAITERS_MAX = 200

/** Waits for commands to be finished by their lanes. */
export interface CommandWaiter extends Waiter<Command> {
  readonly wait: (commandId: number, waitMs: number) => Promise<Command | undefined>
}

export function createCommandWaiter(
  readCommands: (ids: readonly number[]) => Promise<readonly Command[]>,
  onTrouble: (error: unknown) => void,
): CommandWaiter {
  const waiter = createWaiter(readCommands, onTrouble)
  const isFinished = ({ status }: Command) => status !== 'pending'
  return { ...waiter, wait: (commandId, waitMs) => waiter.waitUntil(commandId, isFinished, waitMs) }
}

export function createWaiter<Item extends { readonly id: number }>(
  read: (ids: readonly number[]) => Promise<readonly Item[]>,
  onTrouble: (error: unknown) => void,
): Waiter<Item> {
  const waiting = new Map<number, Set<(item: Item | undefined) => void>>()
  let waiters = 0
  let timer: NodeJS.Timeout | undefined
  let isLooking = false
  let isClosed = false

  async function look() {
    if (isLooking || waiting.size === 0) return
    isLooking = true
    clearTimeout(timer)
    try {
      for (const item of await read([...waiting.keys()])) for (const tell of waiting.get(item.id) ?? []) tell(item)
    } catch (error) {
      onTrouble(error)
    }
    isLooking = false
    if (waiting.size > 0) timer = setTimeout(() => void look(), LOOK_MS)
  }

  return {
    waitUntil: (id, isWanted, waitMs) => {
      if (isClosed || waitMs === 0 || waiters >= WAITERS_MAX) return Promise.resolve(undefined)
      waiters++
      return new Promise((resolve) => {
        const tell = (item: Item | undefined) => {
          if (item !== undefined && !isWanted(item)) return
          clearTimeout(limit)
          others.delete(tell)
          if (others.size === 0) waiting.delete(id)
          waiters--
          resolve(item)
        }
        const limit = setTimeout(() => tell(undefined), waitMs)
        const others = waiting.get(id) ?? new Set()
        waiting.set(id, others.add(tell))
        if (timer === undefined || waiting.size === 1) void look()
      })
    },
    hear: (id) => {
      if (waiting.has(id)) void look()
    },
    close: () => {
      isClosed = true
      clearTimeout(timer)
      for (const tells of [...waiting.values()]) for (const tell of [...tells]) tell(undefined)
    },
  }
}
