import { kafkaSettings } from '../runtime/kafka/connection.ts'
import { createInputConsumer } from '../runtime/kafka/input-consumer.ts'
import { createOffsetReader } from '../runtime/kafka/offset-reader.ts'
import { createTopicAdmin } from '../runtime/kafka/topic-admin.ts'
import { describeError } from '../runtime/log.ts'
import { createFulfillmentReader } from '../schemas/fulfillment-reader.ts'
import type { ConsumerConfig } from './config.ts'
import { releaseLanes } from './claim-lane.ts'
import { createIntake, type Intake } from './intake.ts'
import { createLaneOpener } from './open-lane.ts'
import type { ConsumerOptions } from './options.ts'
import type { Parts } from './parts.ts'
import { createBatchReader } from './read-batch.ts'
import { createReporter } from './reporter.ts'
import { createTables } from './tables.ts'
import { startUpkeep } from './upkeep.ts'
import { createWorkLoop } from './work-loop.ts'

/** What runs once everything is there. */
export interface Assembled {
  readonly intake: Intake
  readonly sincePollMs: () => number
  /** Takes nothing more in, then ends what is in work, then the rest. */
  readonly stop: () => Promise<void>
}

/**
 * Makes the tables and starts reading.
 * @param say what is being waited for, for the readiness probe
 * @throws whatever is away: nothing is left running then
 */
export async function assemble(
  config: ConsumerConfig,
  options: ConsumerOptions,
  parts: Parts,
  { say, onFatal }: { readonly say: (missing: string) => void; readonly onFatal: (error: Error) => void },
): Promise<Assembled> {
  const { pool, metrics, log, reach, elapsedMs, owner, run } = parts
  const { consumer, topic } = owner
  const settings = kafkaSettings(config)
  say('preparing tables in Postgres')
  await createTables(pool)
  await options.prepare?.(pool)
  say(`reading ${topic} from Kafka`)
  const partitions = await countPartitions()
  const offsets = await createOffsetReader(settings, log)
  const kafka = createInputConsumer(
    settings,
    { group: consumer, topic, partitions, sessionTimeoutMs: config.SESSION_TIMEOUT_MS },
    log,
  )
  const reader = createFulfillmentReader(config.SCHEMA_REGISTRY_URL, config.TOPIC_PREFIX, options.topic)
  const isOutside = (kind: string) => Object.hasOwn(parts.effects, kind) && parts.effects[kind]?.kind === 'once'
  const opener = createLaneOpener({ pool, owner, run, offsets, isOutside, log })
  const intake = createIntake({
    ...{ pool, owner, run, kafka, opener, isOutside, metrics, log, reach, openMax: config.OPEN_MAX },
    reader: createBatchReader(reader, elapsedMs),
    onTaken: () => loop.wake(),
    onCrash: onFatal,
  })
  const loop = createWorkLoop(parts, {
    ...{ lanes: intake.ready, concurrency: config.CONCURRENCY, watchedTo: opener.watchedTo },
  })
  const upkeep = startUpkeep({ pool, consumer, keepDays: config.KEEP_DAYS, metrics, log })
  const { GATEWAY_URL: gatewayUrl, WORKER_KEYS_DIR: keysDir } = config
  const reporter =
    gatewayUrl === undefined || keysDir === undefined
      ? undefined
      : createReporter({ ...{ pool, consumer, metrics, log, reach, gatewayUrl, keysDir }, now: () => new Date() })
  const stop = async () => {
    intake.close()
    await kafka.stop()
    await loop.stop()
    await releaseLanes(pool, owner, run).catch((error: unknown) =>
      log.warn({ error: describeError(error) }, 'the lanes are not let go: they are worked on with care next time'),
    )
    await Promise.all([reporter?.stop(), upkeep.stop(), offsets.close()])
  }
  try {
    await kafka.run(intake.handlers)
  } catch (error) {
    await stop()
    throw error
  }
  return { intake, sincePollMs: kafka.sincePollMs, stop }

  async function countPartitions(): Promise<number> {
    const admin = createTopicAdmin(settings, log)
    try {
      const found = (await admin.describeTopics([topic])).get(topic)
      if (found === undefined) throw new Error(`Kafka has no topic ${topic}`)
      return found.partitions
    } finally {
      await admin.close()
    }
  }
}
