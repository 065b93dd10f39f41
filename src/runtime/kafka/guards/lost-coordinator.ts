import type { Internals } from './internals.ts'

const LOST = new Set(['KafkaJSConnectionError', 'KafkaJSConnectionClosedError', 'KafkaJSRequestTimeoutError'])

/**
 * Stock kafkajs goes on asking a group coordinator that no longer answers, one request timeout after another, while
 * the group has long moved to another broker and forgets this member. Here a heartbeat that finds its coordinator gone
 * makes the member look for it and join again.
 */
export function guardLostCoordinator(internals: Internals): void {
  const { KafkaJSProtocolError } = internals.load('src/errors.js') as {
    KafkaJSProtocolError: new (fields: { message: string; type: string; code: number; retriable: boolean }) => Error
  }
  const { prototype } = internals.load('src/consumer/runner.js') as {
    prototype: { heartbeat: (this: object) => Promise<void> }
  }
  const heartbeat = prototype.heartbeat
  prototype.heartbeat = async function () {
    try {
      await heartbeat.call(this)
    } catch (error) {
      const { name, message } = error as Error
      if (!LOST.has(name)) throw error
      throw new KafkaJSProtocolError({ message, type: 'NOT_COORDINATOR_FOR_GROUP', code: 16, retriable: true })
    }
  }
}
