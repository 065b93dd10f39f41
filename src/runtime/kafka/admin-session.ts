import type { Admin } from 'kafkajs'
import { describeError, type Log } from '../log.ts'
import { kafkaFor, type KafkaSettings } from './connection.ts'
import { withDeadline } from './deadline.ts'
import { delay } from './delay.ts'
import { kafkaErrorType } from './error-type.ts'

export interface AdminSession {
  /** Runs `work`, again on a new connection when it fails, until it succeeds or the deadline has passed. */
  readonly run: <T>(what: string, work: (admin: Admin) => Promise<T>) => Promise<T>
  readonly close: () => Promise<void>
}

const DEADLINE_MS = 20_000
const TRY_MS_MAX = 10_000
const BACKOFF_MS_MAX = 500

/**
 * kafkajs retries few of its admin calls, not even a coordinator that is moving or still loading, and keeps a
 * connection to a broker that has died without a word. So a failed call runs again on a new client.
 */
export function createAdminSession(
  settings: KafkaSettings,
  clientId: string,
  log: Log,
  deadlineMs = DEADLINE_MS,
): AdminSession {
  const kafka = kafkaFor(settings, clientId, log, { retries: 2 })
  let current: Promise<Admin> | undefined
  let closed = false

  const connect = async () => {
    const admin = kafka.admin()
    await admin.connect()
    return admin
  }
  const discard = (session: Promise<Admin>) => {
    if (current === session) current = undefined
    session.then((admin) => admin.disconnect()).catch(() => undefined)
  }

  return {
    run: async (what, work) => {
      const startedMs = performance.now()
      for (let tries = 1; ; tries++) {
        if (closed) throw new Error(`${what}: the connection to Kafka is closed`)
        const session = (current ??= connect())
        try {
          return await withDeadline(session.then(work), TRY_MS_MAX, what)
        } catch (error) {
          discard(session)
          if (isFinal(error) || performance.now() - startedMs > deadlineMs) throw error
          log.debug({ error: describeError(error), tries }, `${what}: trying again`)
          await delay(Math.min(10 * 2 ** tries, BACKOFF_MS_MAX) * (0.5 + Math.random() / 2))
        }
      }
    },
    close: () => {
      closed = true
      if (current !== undefined) discard(current)
      return Promise.resolve()
    },
  }
}

/** Trying again cannot help. */
function isFinal(error: unknown): boolean {
  const type = kafkaErrorType(error) ?? ''
  return (
    /AUTHORIZATION_FAILED$|^INVALID_|^TOPIC_ALREADY_EXISTS$|^POLICY_VIOLATION$/.test(type) ||
    (error instanceof Error && /SASLAuthentication|AggregateError|DeleteGroupsError/.test(error.name))
  )
}
