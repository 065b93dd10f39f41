import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits for an outcome: asks `probe` again (every 10 ms, slowly rising to 200 ms) until it gives something other than
 * false, null or undefined. An error of the probe counts as "not yet".
 * @throws Error naming `what` and the last answer or error, when `deadlineMs` has passed
 */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  deadlineMs = 15_000,
): Promise<Exclude<T, false | null | undefined>> {
  const end = performance.now() + deadlineMs
  let last: unknown
  for (let delayMs = 10; ; delayMs = Math.min(delayMs * 1.3, 200)) {
    try {
      const value = await probe()
      if (value !== false && value !== null && value !== undefined) return value as Exclude<T, false | null | undefined>
      last = value
    } catch (error) {
      last = error
    }
    if (performance.now() > end)
      throw new Error(`waited ${deadlineMs} ms in vain until ${what}; last: ${String(last)}`, { cause: last })
    await sleep(delayMs)
  }
}
