import { createServer } from 'node:http'
import { systemClock, type Clock } from '../runtime/clock.ts'
import { createRateLimit } from '../providers/rate-limit.ts'
import { createConnections } from '../runtime/connections.ts'
import { serveHealth } from '../runtime/health.ts'
import { kafkaSettings } from '../runtime/kafka/connection.ts'
import { createPlainProducer } from '../runtime/kafka/plain-producer.ts'
import { listenAt } from '../runtime/listen.ts'
import type { Running } from '../runtime/lifecycle.ts'
import { createLog, describeError, type Log } from '../runtime/log.ts'
import { createPool } from '../runtime/postgres.ts'
import { throwUncaught } from '../runtime/throw-uncaught.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import { findApiToken } from '../store/api-tokens.ts'
import { createOrders } from '../store/create-orders.ts'
import { claimAnomaly, releaseAnomaly } from '../store/claim-anomaly.ts'
import { discardDeadLetters } from '../store/discard-dead-letters.ts'
import { fileCommand } from '../store/file-command.ts'
import { findArchived } from '../store/find-archived.ts'
import { findOrder } from '../store/find-order.ts'
import { findAnomaly, listAnomalies } from '../store/list-anomalies.ts'
import { listHeld } from '../store/list-held.ts'
import { listBrakes } from '../store/list-brakes.ts'
import { listen } from '../store/listen.ts'
import { askedChannel, commandsChannel, notifyQueries } from '../store/notify.ts'
import { readTimeline } from '../store/order-timeline.ts'
import { readDeadLetter, listDeadLetters } from '../store/read-dead-letters.ts'
import { readCommands } from '../store/read-commands.ts'
import { readAsked, refreshQuery } from '../store/refresh-query.ts'
import { findReplayRun, listReplayRecords, listReplayRuns, resumeReplay } from '../store/replay-runs.ts'
import { releaseBrake } from '../store/release-brake.ts'
import { requestReplay } from '../store/request-replay.ts'
import { setBrake } from '../store/set-brake.ts'
import { settleReplays } from '../store/settle-replays.ts'
import { createApp } from './app.ts'
import { createCommandWaiter, createWaiter } from './await-command.ts'
import type { ApiConfig } from './config.ts'
import { reachNothing, type ApiReach } from './crash-points.ts'
import { watchLanes } from './lanes.ts'
import { createApiMetrics } from './metrics.ts'
import { createRefreshOrder } from './refresh-order.ts'
import { startReplaySender, type SenderDeps } from './replay-sender.ts'
import { createRoutes } from './routes.ts'
import type { CommandDeps } from './run-command.ts'

export interface Api extends Running {
  readonly port: number
  readonly metricsPort: number
}

/** An api that is asked has seconds, not the half minute of a tool. */
const POOL_LIMITS = { connectMs: 2_000, statementMs: 5_000, lockMs: 2_000, answerMs: 6_000 }
/** Longer than a request can take once its body is here; the ten seconds that runProcess leaves are for the rest. */
const DRAIN_MS_MAX = 20_000

export interface ApiDeps {
  readonly log?: Log
  readonly clock?: Clock
  /** Tests crash here. */
  readonly reach?: ApiReach
  /** The same, in what sends replays. */
  readonly reachReplay?: SenderDeps['reach']
  /** Something that no waiting mends: the process ends. By default thrown where nobody catches it. */
  readonly onFatal?: (error: Error) => void
}

/** Starts an api. It listens at once; while Postgres is away it answers 503 and is not ready. */
export async function startApi(config: ApiConfig, deps: ApiDeps = {}): Promise<Api> {
  const { log = createLog('api', config.LOG_LEVEL), clock = systemClock, reach = reachNothing } = deps
  const { APP_ID: appId, DATABASE_URL: databaseUrl } = config
  const inputTopic = config.TOPIC_PREFIX + INPUT_TOPIC
  const metrics = createApiMetrics()
  const pool = createPool(databaseUrl, `${appId}-api`, log, config.DATABASE_CONNECTIONS_MAX, POOL_LIMITS)
  metrics.watchPool('api', pool)
  const lanes = watchLanes(pool, { inputTopic, appId }, log, deps.onFatal ?? throwUncaught)
  const waiter = createCommandWaiter(
    (ids) => readCommands(pool, ids),
    (error) => log.warn({ error: describeError(error) }, 'cannot look for finished commands'),
  )
  const asked = createWaiter(
    (ids) => readAsked(pool, ids),
    (error) => log.warn({ error: describeError(error) }, 'cannot look for what providers said'),
  )
  const onNotification = (channel: string, payload: string) =>
    (channel === askedChannel(appId) ? asked : waiter).hear(Number(payload))
  const replayPool = createPool(databaseUrl, `${appId}-api-replay`, log, 2, POOL_LIMITS)
  metrics.watchPool('api-replay', replayPool)
  const sender = startSender(config, {
    ...{ pool: replayPool, topic: inputTopic, log, metrics },
    ...(deps.reachReplay === undefined ? {} : { reach: deps.reachReplay }),
  })
  const channels = [commandsChannel(appId), askedChannel(appId)]
  const listener = listen(databaseUrl, channels, { onNotification, onConnected: () => undefined }, log)

  const commands: CommandDeps = {
    fileCommand: (request) => fileCommand(pool, appId, request, (step) => reach(`command_${step}`)),
    ...{ waiter, waitMs: config.COMMAND_WAIT_MS, metrics, reach },
  }
  const routes = createRoutes({
    commands,
    creating: {
      createOrders: (orders) => createOrders(pool, appId, orders, (step) => reach(`create_${step}`)),
      laneOf: lanes.laneOf,
      ...{ metrics, log },
    },
    reading: {
      findOrder: (merchant, outTradeNo) => findOrder(pool, merchant, outTradeNo),
      findArchived: (merchant, outTradeNo) => findArchived(pool, merchant, outTradeNo),
      readTimeline: (orderId) => readTimeline(pool, orderId, inputTopic),
      readCommand: async (id) => (await readCommands(pool, [id]))[0],
      refreshOrder: createRefreshOrder({
        refreshQuery: (orderId) =>
          refreshQuery(pool, orderId, { nowMs: clock.now().getTime(), everyMs: config.REFRESH_EVERY_MS }),
        notify: (orderId) => notifyQueries(pool, appId, orderId),
        createLimit: () => createRateLimit(config.REFRESH_PER_SEC, clock),
        ...{ waiter: asked, waitMs: config.REFRESH_WAIT_MS, metrics },
      }),
    },
    held: { listHeld: (filter, rowsMax) => listHeld(pool, filter, rowsMax) },
    anomalies: {
      listAnomalies: (filter, page) => listAnomalies(pool, filter, page),
      findAnomaly: (id) => findAnomaly(pool, id),
      claimAnomaly: (request) => claimAnomaly(pool, request, (step) => reach(`claim_${step}`)),
      releaseAnomaly: (request) => releaseAnomaly(pool, request, (step) => reach(`claim_${step}`)),
      ...{ now: clock.now, metrics },
    },
    brakes: {
      listBrakes: (merchant) => listBrakes(pool, merchant),
      setBrake: (request) => setBrake(pool, appId, inputTopic, request, (step) => reach(`brake_${step}`)),
      releaseBrake: (request) => releaseBrake(pool, appId, inputTopic, request, (step) => reach(`brake_${step}`)),
    },
    deadLetters: {
      list: (filter, page) => listDeadLetters(pool, { ...filter, topic: inputTopic }, page),
      read: (id) => readDeadLetter(pool, inputTopic, id),
      discard: (id, by) =>
        discardDeadLetters(pool, { topic: inputTopic, ids: [id] }, { ...by, dryRun: false }, (step) =>
          reach(`discard_${step}`),
        ),
    },
    replays: {
      ...{ topic: inputTopic, partitions: lanes.count, sender },
      requestReplay: (request) => requestReplay(pool, request),
      listRuns: (merchant, page) => listReplayRuns(pool, { topic: inputTopic, merchant }, page),
      findRun: (id: number, merchant: string | null = null) => findReplayRun(pool, { topic: inputTopic, merchant }, id),
      listRecords: (id, page) => listReplayRecords(pool, id, page),
      settle: (id) => settleReplays(pool, id),
      resume: (request) => resumeReplay(pool, request),
    },
  })
  const connections = createConnections(config.CONNECTIONS_MAX, (reason) => metrics.endedConnections.inc({ reason }))
  const app = createApp(routes, {
    findPrincipal: async (tokenHash, now) => {
      const token = await findApiToken(pool, tokenHash, now)
      return token && { tokenId: token.id, name: token.name, merchant: token.merchant, role: token.role }
    },
    mayKeepAlive: connections.mayKeepAlive,
    ...{ clock, log, metrics, bodyBytesMax: config.BODY_BYTES_MAX, inFlightMax: config.IN_FLIGHT_MAX, reach },
  })
  const server = createServer(SERVER_LIMITS, app)
  connections.countOn(server)
  const port = await listenAt(server, { port: config.PORT, host: config.HOST, variable: 'PORT' })
  let stopping = false
  const ready = () => (stopping ? 'stopping' : lanes.ready())
  const health = await serveHealth(metrics.registry, { alive: () => true, ready }, config.METRICS_PORT)
  log.info({ port, metricsPort: health.port }, 'api listens')

  const stop = async () => {
    stopping = true
    waiter.close()
    asked.close()
    await Promise.all([connections.drain(server, DRAIN_MS_MAX), sender?.close()])
    await replayPool.end()
    lanes.close()
    await listener.close()
    await pool.end()
    await health.close()
    log.info('api stopped')
  }
  let stopped: Promise<void> | undefined
  return { port, metricsPort: health.port, stop: () => (stopped ??= stop()) }
}

/** Undefined: this api has no Kafka. */
function startSender(config: ApiConfig, deps: Omit<SenderDeps, 'connect'>) {
  const { KAFKA_BROKERS } = config
  if (KAFKA_BROKERS === undefined) return undefined
  const settings = kafkaSettings({ ...config, KAFKA_BROKERS })
  return startReplaySender({ ...deps, connect: () => createPlainProducer(settings, [deps.topic], deps.log) })
}

/** Node's own (5 minutes for a request, a minute for its headers) would let a slow sender hold a socket. */
const SERVER_LIMITS = {
  headersTimeout: 5_000,
  requestTimeout: 20_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16_384,
}
