import { setTimeout as delay } from 'node:timers/promises'
import { systemClock, type Clock } from '../runtime/clock.ts'
import { serveHealth } from '../runtime/health.ts'
import { kafkaSettings } from '../runtime/kafka/connection.ts'
import { createFenceProducer } from '../runtime/kafka/fence-producer.ts'
import { createInputConsumer } from '../runtime/kafka/input-consumer.ts'
import type { InputConsumer } from '../runtime/kafka/port.ts'
import { createTopicAdmin } from '../runtime/kafka/topic-admin.ts'
import type { Running } from '../runtime/lifecycle.ts'
import { createLog, type Log } from '../runtime/log.ts'
import { createPool } from '../runtime/postgres.ts'
import { repeat } from '../runtime/repeat.ts'
import { inputGroup, INPUT_TOPIC } from '../schemas/topics.ts'
import { readLastAudit } from '../store/audit-runs.ts'
import { readBillGauges } from '../store/bill-runs.ts'
import { finishBrakes } from '../store/tell-lanes.ts'
import { listen, type Listener } from '../store/listen.ts'
import { limitsOf } from '../store/maintain.ts'
import { lanesChannel } from '../store/notify.ts'
import { readBacklog } from '../store/read-backlog.ts'
import { assembleLanes } from './assemble-lanes.ts'
import { checkTopology, WrongTopology } from './check-topology.ts'
import type { ProcessorConfig } from './config.ts'
import { connectPatiently, type Connections } from './connect.ts'
import { reachNothing, type Reach } from './crash-points.ts'
import type { LaneView } from './lane.ts'
import type { Lanes } from './lanes.ts'
import { createMaintenance } from './maintenance.ts'
import { createMetrics } from './metrics.ts'
import { sampleAudit, sampleBacklog, sampleBills, sampleLanes } from './sample.ts'
import type { Steps } from './steps.ts'

export interface ProcessorDeps {
  readonly log?: Log
  readonly clock?: Clock
  /** Tests crash here. */
  readonly reach?: Reach
  /** Tests that show what a rule is for replace a step. */
  readonly changeSteps?: (steps: Steps) => Steps
  /** Something that no waiting mends: the process ends. By default thrown where nobody catches it. */
  readonly onFatal?: (error: Error) => void
}

export interface RunningProcessor extends Running {
  readonly metricsPort: number
  readonly lanes: () => readonly LaneView[]
}

const SAMPLE_MS = 10_000
const TOPOLOGY_MS = 60_000
/** Whoever sets or releases a brake tells the lanes; this is for one that was killed meanwhile. */
const BRAKES_MS = 5_000
/** A default partition full of an older version's rows is looked through; records need not wait for that. */
const PREPARE_MS_MAX = 5_000
/** A fetch ends after 200 ms without records; a batch takes at most two transactions of 30 s each. */
const POLL_MS_MAX = 120_000

/**
 * Starts a processor. It returns as soon as its health port answers; what is away (Postgres, Kafka, the registry, the
 * topics) is waited for in the background, and `/readyz` says for what.
 */
export async function startProcessor(config: ProcessorConfig, deps: ProcessorDeps = {}): Promise<RunningProcessor> {
  const log = deps.log ?? createLog('processor', config.LOG_LEVEL)
  const clock = deps.clock ?? systemClock
  const onFatal = deps.onFatal ?? throwUncaught
  const settings = kafkaSettings(config)
  const metrics = createMetrics()
  const pool = createPool(config.DATABASE_URL, `${config.APP_ID}-processor`, log, 3)
  metrics.watchPool('processor', pool)
  const admin = createTopicAdmin(settings, log)
  const stops: (() => void)[] = []
  let missing = 'starting'
  let isStopped = false
  let work: Work | undefined

  const sincePollMs = () => work?.consumer.sincePollMs() ?? 0
  const health = await serveHealth(
    metrics.registry,
    {
      alive: () =>
        sincePollMs() < POLL_MS_MAX || `no poll of Kafka finished for ${Math.round(sincePollMs() / 1_000)} s`,
      ready: () => missing === '' || missing,
    },
    config.METRICS_PORT,
  )

  const boot = async () => {
    const say = (what: string) => (missing = what)
    const connections = await connectPatiently({ admin, pool, settings }, config, log, () => isStopped, say)
    if (connections === undefined) return
    const inputTopic = config.TOPIC_PREFIX + INPUT_TOPIC
    const maintenance = createMaintenance({
      pool,
      clock,
      metrics,
      log,
      inputTopic,
      limits: limitsOf(config),
      isStopped: () => isStopped,
    })
    say('making the partitions of the next days')
    await Promise.race([maintenance.prepare(), delay(PREPARE_MS_MAX, undefined, { ref: false })])
    if (isStopped) return connections.offsets.close()
    say('joining the consumer group')
    const joined = () => {
      missing = ''
      metrics.rebalances.inc()
    }
    work = createWork(config, { connections, pool, metrics, log, clock, deps, joined })
    const { lanes, consumer } = work
    const sample = async () => {
      const views = lanes.views()
      sampleLanes(metrics, views, consumer.sincePollMs())
      const ledgers = new Map(views.flatMap(({ lane, ledger }) => (ledger === undefined ? [] : [[lane, ledger]])))
      sampleBacklog(metrics, views, await readBacklog(pool, ledgers))
      sampleAudit(metrics, await readLastAudit(pool))
      sampleBills(metrics, await readBillGauges(pool))
    }
    const check = async () => {
      const { APP_ID: appId, TOPIC_PREFIX: topicPrefix, ALLOW_SINGLE_REPLICA: allowSingleReplica } = config
      const options = { appId, topicPrefix, allowSingleReplica }
      await checkTopology(admin, pool, options).catch((error: unknown) => {
        if (error instanceof WrongTopology) onFatal(error)
        else throw error
      })
    }
    stops.push(
      repeat('waking the lanes', config.WAKE_INTERVAL_MS, log, lanes.wakeAll),
      repeat('sampling', SAMPLE_MS, log, sample),
      repeat('finishing brakes', BRAKES_MS, log, () =>
        finishBrakes(pool, config.APP_ID, config.TOPIC_PREFIX + INPUT_TOPIC),
      ),
      repeat('checking the topics', TOPOLOGY_MS, log, check),
      repeat('maintaining the tables', config.MAINTENANCE_INTERVAL_SEC * 1_000, log, maintenance.run),
    )
    await consumer.run({ ...lanes.handlers, onCrash: onFatal })
  }
  boot().catch((error: unknown) => {
    if (!isStopped) onFatal(error instanceof Error ? error : new Error(String(error)))
  })

  return {
    metricsPort: health.port,
    lanes: () => work?.lanes.views() ?? [],
    stop: async () => {
      if (isStopped) return
      isStopped = true
      missing = 'stopping'
      for (const stop of stops) stop()
      work?.lanes.retire()
      // Intake first: the consumer waits for the batches in work, then leaves the group.
      await work?.consumer.stop()
      await work?.listener.close()
      await work?.lanes.stop()
      await work?.connections.offsets.close()
      await admin.close()
      await pool.end()
      await health.close()
    },
  }
}

interface Work {
  readonly connections: Connections
  readonly consumer: InputConsumer
  readonly lanes: Lanes
  readonly listener: Listener
}

interface Parts {
  readonly connections: Connections
  readonly pool: ReturnType<typeof createPool>
  readonly metrics: ReturnType<typeof createMetrics>
  readonly log: Log
  readonly clock: Clock
  readonly deps: ProcessorDeps
  readonly joined: () => void
}

function createWork(config: ProcessorConfig, { connections, pool, metrics, log, clock, deps, joined }: Parts): Work {
  const { APP_ID: appId, TOPIC_PREFIX: topicPrefix, DATABASE_URL: databaseUrl } = config
  const { partitions, codec, offsets } = connections
  const settings = kafkaSettings(config)
  const topic = topicPrefix + INPUT_TOPIC
  const reach = deps.reach ?? reachNothing
  const consumer = createInputConsumer(
    settings,
    {
      group: inputGroup(appId),
      topic,
      partitions,
      sessionTimeoutMs: config.SESSION_TIMEOUT_MS,
      maxRecords: config.BATCH_RECORDS_MAX,
    },
    log,
    clock,
  )
  const lanes = assembleLanes(config, {
    ...{ partitions, codec, offsets, pool, consumer, metrics, log, clock, reach, joined },
    fenceProducer: createFenceProducer(settings, log).fence,
    ...(deps.changeSteps === undefined ? {} : { changeSteps: deps.changeSteps }),
  })
  const listener = listen(
    databaseUrl,
    [lanesChannel(appId)],
    {
      onNotification: (_, lane) => lanes.wake(Number(lane)),
      onConnected: lanes.wakeAll,
    },
    log,
  )
  return { connections, consumer, lanes, listener }
}

function throwUncaught(error: Error): void {
  setImmediate(() => {
    throw error
  })
}
