import { isAlive } from '../parts/process.ts'
import type { Service } from './system.ts'

const LOOK_MS = 500
/** Ctrl-C reaches us twice, from the terminal and from npm; a later one comes from somebody who will not wait. */
const SAME_CTRL_C_MS = 1_000

/**
 * Resolves at the first SIGINT or SIGTERM; a second one, more than a second later, exits at once. What we launched does
 * not keep this process alive, the look at it does.
 * @throws Error when a service has ended by itself
 */
export function untilStopped(services: readonly Pick<Service, 'name' | 'id' | 'logFile'>[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  let askedAtMs: number | undefined
  const onSignal = () => {
    askedAtMs ??= performance.now()
    if (performance.now() - askedAtMs > SAME_CTRL_C_MS) process.exit(130)
    resolve(undefined)
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, onSignal)
  const look = setInterval(() => {
    const ended = services.find(({ id }) => !isAlive(id))
    if (ended !== undefined) reject(new Error(`${ended.name} has ended by itself; its log: ${ended.logFile}`))
  }, LOOK_MS)
  return promise.finally(() => clearInterval(look))
}
