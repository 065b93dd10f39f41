import type { Clock } from '../runtime/clock.ts'
import { partitionFor } from '../runtime/kafka/partition.ts'
import type { FenceProducer, InputConsumer, OffsetReader } from '../runtime/kafka/port.ts'
import type { Log } from '../runtime/log.ts'
import type { CreateConnection, Queryable } from '../runtime/postgres.ts'
import type { Codec } from '../schemas/codec.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import { readLane } from '../store/lane-row.ts'
import { outlive } from '../store/suspect.ts'
import type { ProcessorConfig } from './config.ts'
import type { Reach } from './crash-points.ts'
import { createSteps } from './create-steps.ts'
import { createRecordDecoder } from './decode-records.ts'
import { fence } from './fence.ts'
import { createLane } from './lane.ts'
import { createLanes, type Lanes } from './lanes.ts'
import type { Metrics } from './metrics.ts'
import { createSuspectTurn } from './run-alone.ts'
import type { Steps } from './steps.ts'

/** All that the lanes of a process reach of the world. */
export interface LaneParts {
  readonly partitions: number
  readonly codec: Pick<Codec, 'encode' | 'decodeCallback' | 'load'>
  readonly offsets: OffsetReader
  readonly fenceProducer: FenceProducer
  readonly consumer: Pick<InputConsumer, 'pause' | 'resume' | 'seek'>
  /** Outside of any lane. */
  readonly pool: Queryable
  /** Of each incarnation. */
  readonly createConnection?: CreateConnection | undefined
  readonly metrics: Metrics
  readonly log: Log
  readonly clock: Clock
  readonly reach: Reach
  readonly changeSteps?: (steps: Steps) => Steps
  readonly joined: () => void
}

type LaneConfig = Pick<
  ProcessorConfig,
  | 'APP_ID'
  | 'TOPIC_PREFIX'
  | 'DATABASE_URL'
  | 'LINGER_MS'
  | 'HELD_LIMIT_SEC'
  | 'EXPIRY_GRACE_SEC'
  | 'EXPIRY_ASK_SEC'
  | 'POLICIES'
>

/** Puts the lanes of a process together; nothing happens before the consumer hands them out. */
export function assembleLanes(config: LaneConfig, parts: LaneParts): Lanes {
  const { APP_ID: appId, TOPIC_PREFIX: topicPrefix, DATABASE_URL: databaseUrl } = config
  const { partitions, codec, offsets, fenceProducer, consumer, pool, createConnection } = parts
  const { metrics, log, clock, reach, changeSteps = (plain: Steps) => plain } = parts
  const topic = topicPrefix + INPUT_TOPIC
  const fenceOptions = { appId, topic, topicPrefix, databaseUrl, fenceProducer, offsets, log, reach, createConnection }
  const steps = changeSteps(createSteps(config, { clock, offsets, log, reach }))
  const decode = createRecordDecoder(codec, clock)
  const suspects = createSuspectTurn()
  return createLanes(
    (lane, joins) =>
      createLane({
        ...{ lane, joins, steps, decode, suspects, consumer, clock, metrics, log, reach },
        lingerMs: config.LINGER_MS,
        identity: { lane, laneOf: (key) => partitionFor(key, partitions) },
        emit: { appId, topicPrefix, source: `/paidonce/${appId}`, encode: codec.encode, reach },
        fence: (joinsNow, hooks, before) => fence(lane, joinsNow, fenceOptions, hooks, before),
        outlive: (incarnation, aloneOffset) => outlive(pool, { topic, lane, incarnation, aloneOffset }),
        isHalted: async () => (await readLane(pool, topic, lane))?.halted !== undefined,
      }),
    parts.joined,
  )
}
