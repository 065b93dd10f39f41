import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { serveHealth } from '../runtime/health.ts'
import type { Running } from '../runtime/lifecycle.ts'
import { createLog, describeError, type Log } from '../runtime/log.ts'
import { createPool } from '../runtime/postgres.ts'
import { assemble, type Assembled } from './assemble.ts'
import { createCallLock, NO_LOCK, type CallLock } from './call-lock.ts'
import type { ConsumerConfig } from './config.ts'
import { beginAtZero, createConsumerMetrics, type ConsumerMetrics } from './metrics.ts'
import type { ConsumerOptions } from './options.ts'
import type { Parts } from './parts.ts'
import { connectRedis } from './redis.ts'

export interface RunningConsumer extends Running {
  readonly metricsPort: number
  readonly lanes: () => readonly number[]
}

const POLL_MS_MAX = 120_000
const RETRY_MS_MAX = 5_000
const elapsedMs = () => performance.now()

/**
 * Starts a consumer. It returns as soon as its health port answers; what is away (Postgres, Kafka, the topic) is waited
 * for in the background, and `/readyz` says for what.
 */
export async function startConsumer(config: ConsumerConfig, options: ConsumerOptions): Promise<RunningConsumer> {
  const log = options.log ?? createLog(config.CONSUMER_NAME, config.LOG_LEVEL)
  const metrics = createConsumerMetrics(options.registry)
  beginAtZero(metrics, config.CONSUMER_NAME)
  const onFatal = options.onFatal ?? throwUncaught
  const parts = partsOf(config, options, log, metrics)
  let missing = 'starting'
  let assembled: Assembled | undefined
  const stopping = new AbortController()

  const health = await serveHealth(
    metrics.registry,
    {
      alive: () => (assembled?.sincePollMs() ?? 0) < POLL_MS_MAX || 'no poll of Kafka finished for two minutes',
      ready: () => (missing === '' ? (stoppedLane(assembled) ?? true) : missing),
    },
    config.METRICS_PORT,
  )
  const say = (what: string) => (missing = what)
  const begin = async () => {
    for (let failures = 0; !stopping.signal.aborted; failures++)
      try {
        assembled = await assemble(config, options, parts, { say, onFatal })
        say('')
        log.info({ topic: parts.owner.topic }, 'consumer runs')
        return
      } catch (error) {
        say(describeError(error).message)
        log.warn({ error: describeError(error) }, 'not ready yet; trying again')
        const waitMs = Math.min(200 * 2 ** failures, RETRY_MS_MAX)
        await delay(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      }
  }
  const beginning = begin()
  const stop = async () => {
    stopping.abort()
    await beginning
    say('stopping')
    await assembled?.stop()
    await parts.lock.close()
    await parts.pool.end()
    await health.close()
  }
  let stopped: Promise<void> | undefined
  return { metricsPort: health.port, lanes: () => assembled?.intake.lanes() ?? [], stop: () => (stopped ??= stop()) }
}

function partsOf(config: ConsumerConfig, options: ConsumerOptions, log: Log, metrics: ConsumerMetrics): Parts {
  const consumer = config.CONSUMER_NAME
  const parts: Parts = {
    ...{ metrics, log, elapsedMs, effects: options.effects, lock: lockOf(config, log, metrics) },
    owner: { consumer, topic: config.TOPIC_PREFIX + options.topic },
    run: randomUUID(),
    // One for each event in work, some for what goes on beside.
    pool: createPool(config.DATABASE_URL, consumer, log, config.CONCURRENCY + 8, limitsOf(config)),
    reach: options.reach ?? (() => undefined),
    handleMs: config.HANDLE_MS,
    onUnsettled: options.onUnsettled ?? (() => undefined),
    retries: {
      ...{ fromMs: config.RETRY_FROM_MS, toMs: config.RETRY_TO_MS, throwsMax: config.THROWS_MAX },
      killsMax: config.KILLS_MAX,
      ageMsMax: config.RETRY_HOURS_MAX * 3_600_000,
    },
  }
  return options.changeParts?.(parts) ?? parts
}

/** Postgres ends what a handler left behind only after its time, so that the two are not mistaken for one another. */
const limitsOf = ({ HANDLE_MS }: ConsumerConfig) => {
  const ms = Math.max(30_000, HANDLE_MS + 5_000)
  return { statementMs: ms, idleMs: ms }
}

function lockOf(config: ConsumerConfig, log: Log, metrics: ConsumerMetrics): CallLock {
  if (config.REDIS_URL === undefined) return NO_LOCK
  return createCallLock(connectRedis(config.REDIS_URL, log, elapsedMs), {
    ...{ seconds: config.LOCK_SEC, elapsedMs },
    onOutcome: (outcome) => metrics.locks.inc({ consumer: config.CONSUMER_NAME, outcome }),
  })
}

function stoppedLane(assembled: Assembled | undefined): string | undefined {
  const [first] = assembled?.intake.stopped() ?? []
  return first && `lane ${first[0]} waits for a person: ${first[1]}`
}

function throwUncaught(error: Error): void {
  setImmediate(() => {
    throw error
  })
}
