import type pg from 'pg'
import type { CommittedOffset, LaneProducer } from '../runtime/kafka/port.ts'
import type { Log } from '../runtime/log.ts'
import { createCodec } from '../schemas/codec.ts'
import { planEmission } from '../store/emission-plan.ts'
import { countEventsOf, eventsOfTopic, type EventRange } from '../store/events-of-topic.ts'
import type { Lacking } from '../store/judge-rebuild.ts'

/** Events that a topic has lost, and how many of them are to be sent. */
export interface SendAgain extends EventRange {
  readonly events: number
}

/** @param since undefined: all that Postgres still has */
export const planSendAgain = (
  pool: pg.Pool,
  lane: number,
  lacking: readonly Lacking[],
  below: number,
  since = new Date(0),
): Promise<SendAgain[]> =>
  Promise.all(
    lacking.map(async ({ topic, after }) => {
      const range = { lane, topic, after, below, since }
      return { ...range, events: await countEventsOf(pool, range) }
    }),
  )

export interface SendOptions {
  readonly pool: pg.Pool
  readonly appId: string
  readonly registryUrl: string
  readonly topicPrefix: string
  readonly log: Log
}

/**
 * Sends events with their numbers and ids to where they were, in order, a page (1,000) a transaction. What a run that
 * died has sent is in the topic, so that the next one begins behind it.
 * @param ledger of the lane, as every transaction needs an offset
 */
export async function sendAgain(
  producer: LaneProducer,
  plan: readonly SendAgain[],
  ledger: CommittedOffset,
  { pool, appId, registryUrl, topicPrefix, log }: SendOptions,
): Promise<void> {
  if (plan.every(({ events }) => events === 0)) return
  const { encode } = await createCodec(registryUrl, topicPrefix, log)
  for (const range of plan)
    for await (const page of eventsOfTopic(pool, range)) {
      const options = { lane: range.lane, topicPrefix, source: `/paidonce/${appId}`, encode }
      await producer.commit(planEmission(page, options), [ledger])
    }
}
