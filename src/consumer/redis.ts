import { createClient } from '@redis/client'
import { withDeadline } from '../runtime/kafka/deadline.ts'
import { describeError, type Log } from '../runtime/log.ts'
import type { LockCommands } from './call-lock.ts'

/** A frozen Redis answers nothing for ever; work must not wait for it. */
const COMMAND_MS_MAX = 100
/** After a command that was not answered none is sent for a while. */
const REST_MS = 1_000
const CLOSE_MS_MAX = 1_000

/** Connects in the background: a consumer starts, and works, without Redis. */
export function connectRedis(url: string, log: Log, elapsedMs: () => number): LockCommands {
  const client = createClient({
    ...{ url, RESP: 2, name: 'paidonce-consumer', disableClientInfo: true, maintNotifications: 'disabled' },
    disableOfflineQueue: true,
    socket: { connectTimeout: 2_000, reconnectStrategy: (tries) => Math.min(100 * 2 ** tries, 2_000) },
  })
  let said = false
  client.on('error', (error: unknown) => {
    if (!said) log.warn({ error: describeError(error) }, 'Redis is away: going on without its lock')
    said = true
  })
  client.on('ready', () => {
    if (said) log.info('Redis is back')
    said = false
  })
  client.connect().catch(() => undefined)
  let restUntilMs = -Infinity
  const run = async <T>(command: () => Promise<T>): Promise<T> => {
    if (!client.isReady || elapsedMs() < restUntilMs) throw new Error('Redis is away')
    try {
      return await withDeadline(command(), COMMAND_MS_MAX, 'Redis')
    } catch (error) {
      restUntilMs = elapsedMs() + REST_MS
      throw error
    }
  }
  return {
    setIfAbsent: (key, value, seconds) =>
      run(
        async () =>
          (await client.set(key, value, { condition: 'NX', expiration: { type: 'EX', value: seconds } })) === 'OK',
      ),
    runScript: (script, key, args) => run(() => client.eval(script, { keys: [key], arguments: [...args] })),
    close: async () => {
      await withDeadline(client.isReady ? client.close() : Promise.resolve(), CLOSE_MS_MAX, 'Redis').catch(
        () => undefined,
      )
      if (client.isOpen) client.destroy()
    },
  }
}
