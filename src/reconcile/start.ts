import { systemClock, type Clock } from '../runtime/clock.ts'
import { BadConfiguration } from '../runtime/config.ts'
import { serveHealth } from '../runtime/health.ts'
import type { Running } from '../runtime/lifecycle.ts'
import { createLog, describeError, type Log } from '../runtime/log.ts'
import { createPool } from '../runtime/postgres.ts'
import { repeat } from '../runtime/repeat.ts'
import { throwUncaught } from '../runtime/throw-uncaught.ts'
import type { QueryClients } from '../providers/query.ts'
import type { LoadedQueryClients } from '../providers/query-clients.ts'
import { watchQueryClients } from '../providers/watch-query-clients.ts'
import type { ReloadOutcome } from '../providers/watch-set.ts'
import { listen } from '../store/listen.ts'
import { queriesChannel } from '../store/notify.ts'
import { startAsker, type Asker } from './ask-due.ts'
import { leaseMsOf, scheduleOf, type ReconcilerConfig } from './config.ts'
import { connectPublisher } from './connect.ts'
import { reachNothing, type QueryReach } from './crash-points.ts'
import { createFiler } from './file-due.ts'
import { createQueryMetrics } from './metrics.ts'
import { publishLearnt } from './publish.ts'

export interface ReconcilerDeps {
  readonly log?: Log
  readonly clock?: Clock
  readonly clients: QueryClients
  /** From which files they come, if they are to follow these. */
  readonly keys?: LoadedQueryClients
  /** Tests crash here. */
  readonly reach?: QueryReach
  /** Something that no waiting mends: the process ends. By default thrown where nobody catches it. */
  readonly onFatal?: (error: Error) => void
}

export interface RunningReconciler extends Running {
  readonly metricsPort: number
}

const POOL_LIMITS = { connectMs: 5_000, statementMs: 10_000, lockMs: 2_000, answerMs: 15_000 }
const TOPOLOGY_MS = 60_000
const LOOK_MS_MAX = 120_000

/**
 * Starts a reconciler. It returns as soon as its health port answers; what is away (Postgres, Kafka, the registry) is
 * waited for in the background, and `/readyz` says so.
 */
export async function startReconciler(config: ReconcilerConfig, deps: ReconcilerDeps): Promise<RunningReconciler> {
  const { log = createLog('reconcile', config.LOG_LEVEL), clock = systemClock, reach = reachNothing } = deps
  const { onFatal = throwUncaught } = deps
  const metrics = createQueryMetrics()
  metrics.noteReload('loaded', clock.now())
  const noteReload = (outcome: ReloadOutcome) => metrics.noteReload(outcome, clock.now())
  const watch = deps.keys && watchQueryClients(deps.keys, log, noteReload, metrics.noteUnsettled)
  const clients = () => watch?.current() ?? deps.clients
  const pool = createPool(config.DATABASE_URL, `${config.APP_ID}-reconcile`, log, 4, POOL_LIMITS)
  metrics.watchPool('reconcile', pool)
  const stopping = new AbortController()
  const closers: (() => Promise<void> | void)[] = []
  let missing = 'starting'
  let asker: Asker | undefined
  const isLate = () => (asker?.sinceLookMs() ?? 0) > LOOK_MS_MAX
  const health = await serveHealth(
    metrics.registry,
    { alive: () => !isLate() || 'it has not looked for what is due for long', ready: () => missing === '' || missing },
    config.METRICS_PORT,
  )

  const boot = async () => {
    missing = 'Kafka, the schema registry or Postgres has not been reached yet'
    const publisher = await connectPublisher(config, pool, log, stopping.signal)
    closers.push(publisher.producer.close)
    const schedule = scheduleOf(config)
    const file = createFiler({
      ...{ pool, schedule, clock, metrics, reach },
      merchants: () => [...clients().keys()],
      everyMs: config.QUERY_SWEEP_MS,
      heldBeforeMs: config.QUERY_HELD_BEFORE_MS,
    })
    const running = startAsker({
      ...{ pool, schedule, clock, metrics, log, reach, appId: config.APP_ID },
      clients,
      publish: async (learnt) => {
        const published = await publishLearnt(publisher, learnt, config.QUERY_PUBLISH_MS_MAX)
        if (published.kind === 'published')
          for (const { provider, messages } of learnt) metrics.published.inc({ provider }, messages.length)
        return published
      },
      answerMsMax: config.QUERY_ANSWER_MS_MAX,
      leaseMs: leaseMsOf(config),
      lookMs: config.QUERY_LOOK_MS,
      perMerchantMax: config.QUERY_PER_MERCHANT_MAX,
      inFlightMax: config.QUERY_IN_FLIGHT_MAX,
    })
    asker = running
    // A stop waits for it: Postgres is not closed under a sweep.
    let sweeping: Promise<void> = Promise.resolve()
    const sweep = () => {
      const run = file()
      sweeping = run.catch(() => undefined)
      return run
    }
    const handlers = { onNotification: running.wake, onConnected: running.wake }
    const listener = listen(config.DATABASE_URL, [queriesChannel(config.APP_ID)], handlers, log)
    const check = () =>
      publisher.checkTopology().catch((error: unknown) => {
        if (error instanceof BadConfiguration) onFatal(error)
        else throw error
      })
    closers.push(
      running.close,
      listener.close,
      () => sweeping,
      repeat('looking for pending orders', config.QUERY_SWEEP_MS, log, sweep),
      repeat('checking the topics', TOPOLOGY_MS, log, check),
    )
    missing = ''
    if (watch !== undefined && config.MERCHANTS_RELOAD_MS > 0)
      closers.push(repeat('looking at the query keys', config.MERCHANTS_RELOAD_MS, log, watch.look))
    log.info({ merchants: clients().size }, 'reconciler asks')
  }
  const booted = boot().catch((error: unknown) => {
    if (stopping.signal.aborted) return
    log.error({ error: describeError(error) }, 'reconciler cannot start')
    onFatal(error instanceof Error ? error : new Error(String(error)))
  })

  const stop = async () => {
    missing = 'stopping'
    stopping.abort()
    await booted
    // Intake first: the sweep and the listener, then what is being asked, then the producer.
    for (const close of closers.splice(0).reverse()) await close()
    await pool.end()
    await health.close()
    log.info('reconciler stopped')
  }
  let stopped: Promise<void> | undefined
  return { metricsPort: health.port, stop: () => (stopped ??= stop()) }
}
