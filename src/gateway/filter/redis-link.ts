import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '@redis/client'
import { describeError, type Log } from '../../runtime/log.ts'

/** One connection, and what can be asked over it. An answer that is an error rejects. */
export interface Redis {
  readonly send: (command: readonly string[]) => Promise<unknown>
}

/** The connection while it is of use. It is given up at once when it fails, and tried again in the background. */
export interface RedisLink {
  /** Undefined while Redis is away, or too slow to be asked. */
  readonly redis: () => Redis | undefined
  /** This connection is of no use any more. Says nothing about a later one. */
  readonly giveUp: (redis: Redis, reason: unknown) => void
  readonly close: () => Promise<void>
}

export interface LinkOptions {
  readonly url: string
  readonly log: Log
  /** Whether a new connection is of use; rejects if not. */
  readonly probe: (redis: Redis) => Promise<void>
  readonly onChange: (up: boolean) => void
}

const CONNECT_MS_MAX = 1_000
const PAUSE_MS_MIN = 250
const PAUSE_MS_MAX = 10_000
/** A connection that lasted so long was of use: the next is tried soon. */
const LASTING_MS = 30_000

/**
 * The library's own reconnecting and queueing are off: it would keep commands for a Redis that is away, and nobody
 * could tell it that a connection over which nothing comes is of no use.
 */
export function keepRedisLink({ url, log, probe, onChange }: LinkOptions): RedisLink {
  const stopped = new AbortController()
  const isStopped = () => stopped.signal.aborted
  let current: { readonly redis: Redis; readonly giveUp: (reason: unknown) => void } | undefined

  /** Resolves when the connection is lost, with the reason; rejects if it could not be had. */
  const holdOne = async (): Promise<unknown> => {
    const client = createClient({
      ...{ url, RESP: 2, name: 'paidonce-gateway', disableClientInfo: true, maintNotifications: 'disabled' },
      disableOfflineQueue: true,
      // Whoever asks has a deadline of its own; the library's is an AbortSignal per command.
      commandOptions: { timeout: 0 },
      socket: { reconnectStrategy: false, connectTimeout: CONNECT_MS_MAX },
    })
    let lose: (reason: unknown) => void = () => undefined
    const lost = new Promise((resolve) => (lose = resolve))
    const onStop = () => lose(new Error('stopped'))
    client.on('error', lose)
    client.on('end', () => lose(new Error('the connection ended')))
    stopped.signal.addEventListener('abort', onStop)
    const redis: Redis = { send: (command) => client.sendCommand(command) }
    try {
      await Promise.race([client.connect().then(() => probe(redis)), failAfter(CONNECT_MS_MAX), failWith(lost)])
      current = { redis, giveUp: lose }
      onChange(true)
      log.info('Redis is asked about repeats')
      return await lost
    } finally {
      current = undefined
      onChange(false)
      stopped.signal.removeEventListener('abort', onStop)
      client.destroy()
    }
  }

  const run = async () => {
    for (let pauseMs = PAUSE_MS_MIN; !isStopped(); pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
      const startedMs = performance.now()
      const reason = await holdOne().catch((error: unknown) => error)
      if (performance.now() - startedMs > LASTING_MS) pauseMs = PAUSE_MS_MIN
      if (isStopped()) return
      log.warn({ error: describeError(reason), retryMs: pauseMs }, 'Redis is not asked: every callback goes to Kafka')
      await delay(pauseMs * (0.5 + Math.random() / 2), undefined, { signal: stopped.signal }).catch(() => undefined)
    }
  }
  const done = run()

  return {
    redis: () => current?.redis,
    giveUp: (redis, reason) => {
      if (current?.redis === redis) current.giveUp(reason)
    },
    close: async () => {
      stopped.abort()
      await done
    },
  }
}

const failAfter = (ms: number) =>
  delay(ms, undefined, { ref: false }).then(() => {
    throw new Error(`no connection within ${ms} ms`)
  })

const failWith = (lost: Promise<unknown>) =>
  lost.then((reason) => {
    throw reason
  })
