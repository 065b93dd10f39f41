import { NO_POLICIES } from '../../../src/orders/policies.ts'
import { assembleLanes } from '../../../src/processor/assemble-lanes.ts'
import { reachNothing } from '../../../src/processor/crash-points.ts'
import type { Lanes } from '../../../src/processor/lanes.ts'
import { repeat } from '../../../src/runtime/repeat.ts'
import type { InputConsumer } from '../../../src/runtime/kafka/port.ts'
import { inputGroup, INPUT_TOPIC } from '../../../src/schemas/topics.ts'
import { lanesChannel } from '../../../src/store/notify.ts'
import { finishBrakes } from '../../../src/store/tell-lanes.ts'
import { simulatedFence, simulatedOffsets } from '../kafka/clients.ts'
import { createSimulatedConsumer } from '../kafka/input-consumer.ts'
import { simulatedConnections } from '../postgres/connection.ts'
import { simulatedPool } from '../postgres/pool.ts'
import { EXPIRY_GRACE_MS } from '../oracle/fold.ts'
import type { Host } from '../world/queue.ts'
import type { Standing } from './aim.ts'
import { NO_METRICS } from './silence.ts'
import { APP, type World } from './world.ts'

export interface Processor {
  readonly host: Host
  readonly lanes: Lanes
  readonly consumer: InputConsumer
  /** As on SIGTERM. */
  readonly stop: () => Promise<void>
}

const WAKE_MS = 2_000
const BRAKES_MS = 5_000

const CONFIG = {
  ...{ APP_ID: APP, TOPIC_PREFIX: '', DATABASE_URL: 'simulated', LINGER_MS: 5 },
  ...{ HELD_LIMIT_SEC: 6, EXPIRY_GRACE_SEC: EXPIRY_GRACE_MS / 1_000, EXPIRY_ASK_SEC: 0, POLICIES: NO_POLICIES },
}

/**
 * A process as `start.ts` puts it together, on a host of its own. Runs within a step of that host.
 * @param ends what else ends or stands still with it
 */
export function startSimulatedProcessor(host: Host, world: World, ends: Pick<Standing, 'kill' | 'pause'>): Processor {
  const { scheduler, random, network, broker, group, clock, log, aim } = world
  const createConnection = simulatedConnections(host, world)
  const pool = simulatedPool(createConnection, 'processor')
  const consumer = createSimulatedConsumer(
    host,
    { scheduler, random, network, broker, group },
    { groupId: inputGroup(APP), topic: INPUT_TOPIC, recordsMax: world.plan.recordsMax },
  )
  const lanes = assembleLanes(CONFIG, {
    ...{ partitions: world.plan.partitions, codec: world.codec.codec, consumer, pool, createConnection, clock, log },
    offsets: simulatedOffsets(host, network, broker),
    fenceProducer: simulatedFence(host, network, broker),
    reach: aim === undefined ? reachNothing : (point) => aim.reach({ process: 'processor', host, ...ends }, point),
    ...{ metrics: NO_METRICS, joined: () => undefined },
  })
  const stops = [
    repeat('waking the lanes', WAKE_MS, log, lanes.wakeAll),
    repeat('finishing brakes', BRAKES_MS, log, () => finishBrakes(pool, APP, INPUT_TOPIC)),
  ]
  const hear = (channel: string, payload: string) => {
    if (channel !== lanesChannel(APP) || random.chance(0.1)) return // NOTIFY is a hint, and may be lost.
    scheduler.at(network.latencyMs(), host, `notified ${payload}`, () => lanes.wake(Number(payload)))
  }
  world.listeners.add(hear)
  void consumer.run({ ...lanes.handlers, onCrash: world.fail })
  return {
    ...{ host, lanes, consumer },
    stop: async () => {
      world.listeners.delete(hear)
      for (const stop of stops) stop()
      lanes.retire()
      await consumer.stop()
      await lanes.stop()
    },
  }
}
