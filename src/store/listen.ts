import pg from 'pg'
import { describeError, type Log } from '../runtime/log.ts'

export interface Listener {
  readonly close: () => Promise<void>
}

const RETRY_MS_MIN = 100
const RETRY_MS_MAX = 5_000
/** A half-open connection is told from a quiet one only by asking. */
const PROBE_MS = 15_000

/**
 * Listens on channels with a connection of its own, and reconnects for ever. Notifications sent meanwhile are lost:
 * after each connect `onConnected` says "look at everything".
 */
export function listen(
  databaseUrl: string,
  channels: readonly string[],
  handlers: {
    readonly onNotification: (channel: string, payload: string) => void
    readonly onConnected: () => void
  },
  log: Log,
): Listener {
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  let failures = 0

  const again = (failed: pg.Client, error: unknown) => {
    if (client !== failed) return // An older connection's last words.
    client = undefined
    clearTimeout(timer)
    failed.end().catch(() => undefined)
    if (isClosed) return
    log.warn({ error: describeError(error) }, 'Postgres notifications lost, reconnecting')
    const ceiling = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(failures++, 16))
    timer = setTimeout(connect, ceiling * (0.5 + Math.random() / 2))
  }
  const probe = (current: pg.Client) => {
    timer = setTimeout(() => {
      current.query('select').then(
        () => {
          if (client === current) probe(current)
        },
        (error: unknown) => again(current, error),
      )
    }, PROBE_MS)
    timer.unref()
  }
  const connect = () => {
    const current = new pg.Client({
      connectionString: databaseUrl,
      application_name: 'paidonce-listen',
      connectionTimeoutMillis: 10_000,
      query_timeout: 10_000,
      keepAlive: true,
    })
    client = current
    current.on('error', (error) => again(current, error))
    current.on('end', () => again(current, new Error('Connection terminated')))
    current.on('notification', ({ channel, payload }) => handlers.onNotification(channel, payload ?? ''))
    current
      .connect()
      .then(() => current.query(channels.map((name) => `listen ${pg.escapeIdentifier(name)}`).join('; ')))
      .then(
        () => {
          if (client !== current) return
          failures = 0
          handlers.onConnected()
          probe(current)
        },
        (error: unknown) => again(current, error),
      )
  }
  connect()
  return {
    close: async () => {
      isClosed = true
      clearTimeout(timer)
      await client?.end().catch(() => undefined)
    },
  }
}
