import type { Consumer } from 'kafkajs'
import { describeError, type Log } from '../log.ts'
import { delay } from './delay.ts'

const CONNECT_BACKOFF_MS_MAX = 5_000

/** Kafka may be away at start: tries until it is there; what waiting cannot mend is thrown. */
export async function subscribe(consumer: Consumer, topic: string, isStopping: () => boolean, log: Log): Promise<void> {
  for (let tries = 1; !isStopping(); tries++) {
    try {
      await consumer.connect()
      await consumer.subscribe({ topics: [topic], fromBeginning: true })
      return
    } catch (error) {
      const { retriable, name } = error as { retriable?: unknown; name?: unknown }
      if (retriable === false && name !== 'KafkaJSNumberOfRetriesExceeded') throw error
      log.warn({ error: describeError(error), tries }, 'Kafka cannot be reached; trying again')
      await delay(Math.min(200 * 2 ** tries, CONNECT_BACKOFF_MS_MAX) * (0.5 + Math.random() / 2))
    }
  }
}
