import { loadMerchants, type LoadedMerchants } from '../providers/merchants.ts'
import { watchMerchants } from '../providers/watch-merchants.ts'
import { systemClock, type Clock } from '../runtime/clock.ts'
import { createConnections } from '../runtime/connections.ts'
import { serveHealth } from '../runtime/health.ts'
import type { Running } from '../runtime/lifecycle.ts'
import { createLog, describeError, type Log } from '../runtime/log.ts'
import { createApp } from './app.ts'
import { ANSWER_MS_MAX } from './callback-route.ts'
import type { GatewayConfig } from './config.ts'
import { connectBackend, type Backend, type Connect } from './connect.ts'
import { reachNothing, type GatewayReach } from './crash-points.ts'
import { createMetrics } from './metrics.ts'
import { createPace } from './pace.ts'
import { listen } from './public-server.ts'
import { createRefusalLog } from './refusal-log.ts'

export interface GatewayDeps {
  readonly log?: Log
  readonly clock?: Clock
  /** Loaded already from MERCHANTS_DIR. */
  readonly merchants?: LoadedMerchants
  readonly connect?: Connect
  /** Tests crash here. */
  readonly reach?: GatewayReach
  readonly onFatal?: (error: Error) => void
}

export interface Gateway extends Running {
  readonly port: number
  readonly metricsPort: number
  /** Loads the merchants' files now. Resolves when that is decided; the outcome is in the log and the metrics. */
  readonly reloadMerchants: () => Promise<void>
}

/**
 * Starts a gateway. It listens at once; until Kafka and the registry have been reached it is not ready and answers
 * every callback in its sender's failure form. Readiness does not follow Kafka later: all gateways share it, and a
 * load balancer without any would answer worse than they do.
 * @throws BadConfiguration the merchants' files or the Kafka variables make no sense
 */
export async function startGateway(config: GatewayConfig, deps: GatewayDeps = {}): Promise<Gateway> {
  const {
    clock = systemClock,
    log = createLog('gateway', config.LOG_LEVEL),
    connect = connectBackend,
    reach = reachNothing,
  } = deps
  const loaded = deps.merchants ?? loadMerchants(config.MERCHANTS_DIR)
  const onFatal = deps.onFatal ?? endProcess
  const metrics = createMetrics()
  metrics.merchantsLoadedAt.set(clock.now().getTime() / 1_000)
  const watch = watchMerchants(loaded, {
    directory: config.MERCHANTS_DIR,
    intervalMs: config.MERCHANTS_RELOAD_MS,
    onReload: (outcome) => metrics.noteReload(outcome, clock.now()),
    onUnsettled: metrics.noteUnsettled,
    log,
  })
  const connections = createConnections(config.CONNECTIONS_MAX, (reason) => metrics.endedConnections.inc({ reason }))
  const stopping = new AbortController()
  let backend: Backend | undefined

  const app = createApp(
    {
      ...{ merchants: watch.merchants, clock, metrics },
      receive: () => backend?.receive,
      mayKeepAlive: connections.mayKeepAlive,
      pace: createPace(config.CONNECTIONS_MAX),
      inFlightMax: config.IN_FLIGHT_MAX,
      logRefusal: createRefusalLog(log, clock.elapsedMs),
      reach,
    },
    log,
  )
  const server = await listen(app, config.PORT, {
    connections,
    keepAliveMs: config.KEEP_ALIVE_MS,
    onBroken: (reason) => metrics.broken.inc({ reason }),
  })
  const ready = () => {
    if (stopping.signal.aborted) return 'stopping'
    return backend === undefined ? 'Kafka or the schema registry has not been reached yet' : true
  }
  const health = await serveHealth(metrics.registry, { alive: () => true, ready }, config.METRICS_PORT)
  log.info({ port: server.port, metricsPort: health.port, merchants: loaded.names.length }, 'gateway listens')

  const connected = connect(config, { log, clock, metrics, onFatal, signal: stopping.signal, reach }).then(
    (reached) => {
      backend = reached
      log.info('gateway is ready')
    },
    (error: unknown) => {
      if (stopping.signal.aborted) return
      log.error({ error: describeError(error) }, 'gateway cannot start')
      onFatal(error instanceof Error ? error : new Error(String(error)))
    },
  )

  const stop = async () => {
    stopping.abort()
    watch.stop()
    await server.close(ANSWER_MS_MAX + 1_000)
    await connected
    await backend?.close()
    await health.close()
    metrics.stop()
    log.info('gateway stopped')
  }
  let stopped: Promise<void> | undefined
  return {
    ...{ port: server.port, metricsPort: health.port, reloadMerchants: watch.reload },
    stop: () => (stopped ??= stop()),
  }
}

/** Outside of any promise, so that it reaches the process's last handler, which prints it and exits. */
function endProcess(error: Error): void {
  setImmediate(() => {
    throw error
  })
}
