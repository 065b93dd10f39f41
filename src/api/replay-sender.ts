import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { PlainProducer } from '../runtime/kafka/port.ts'
import { describeError, type Log } from '../runtime/log.ts'
import { findUnsentRuns, noteTrouble } from '../store/replay-runs.ts'
import { sendReplays, type ReplayPoint } from '../store/send-replays.ts'
import type { ApiMetrics } from './metrics.ts'

export interface ReplaySender {
  /** A run was asked for: look at once. */
  readonly wake: () => void
  readonly close: () => Promise<void>
}
export interface SenderDeps {
  readonly pool: pg.Pool
  /** The input topic's full name. */
  readonly topic: string
  readonly connect: () => Promise<PlainProducer>
  readonly log: Log
  readonly metrics: Pick<ApiMetrics, 'replaysSent' | 'replayFailures'>
  readonly reach?: (point: ReplayPoint) => void | Promise<void>
}

/** How soon a run is found that another process was asked for, or died over. */
const LOOK_MS = 2_000
const BACKOFF_MS_MAX = 30_000

/**
 * Sends every run that is not sent, whoever asked for it and whoever died over it, one after another. Of several apis
 * one sends a run, by a lock that lives as long as its connection; that the same record is sent twice after all does no
 * harm, as the dedupe takes the second one.
 */
export function startReplaySender(deps: SenderDeps): ReplaySender {
  const { log } = deps
  const stopping = new AbortController()
  let nudge = new AbortController()
  let failures = 0

  async function loop() {
    while (!stopping.signal.aborted) {
      const isFine = await sendAll(deps, stopping.signal).catch((error: unknown) => {
        log.warn({ error: describeError(error) }, 'replays cannot be sent')
        return false
      })
      failures = isFine ? 0 : failures + 1
      const waitMs = Math.min(LOOK_MS * 2 ** Math.min(failures, 10), BACKOFF_MS_MAX) * (0.75 + Math.random() / 4)
      await delay(waitMs, undefined, { signal: nudge.signal, ref: false }).catch(() => undefined)
      nudge = new AbortController()
    }
  }
  const running = loop()
  return {
    wake: () => {
      nudge.abort()
    },
    close: async () => {
      stopping.abort()
      nudge.abort()
      await running
    },
  }
}

/** @returns false: some of it did not get on. Connects only while there is something to send. */
async function sendAll(deps: SenderDeps, signal: AbortSignal): Promise<boolean> {
  const { pool, topic, connect, log, metrics, reach = () => undefined } = deps
  const runs = await findUnsentRuns(pool, topic)
  if (runs.length === 0) return true
  let isFine = true
  const connecting = connect()
  const producer = await Promise.race([connecting, abortOf(signal)]).catch(async (error: unknown) => {
    for (const id of runs) await noteTrouble(pool, id, sayTrouble(error))
    throw error
  })
  if (producer === undefined) {
    // Kafka may be away for long: a stop does not wait for it.
    connecting.then((late) => late.close()).catch(() => undefined)
    return true
  }
  try {
    for (const runId of runs) {
      if (signal.aborted) return true
      try {
        const sent = await sendReplays(pool, producer, { topic, runId, reach, signal })
        if (sent.kind === 'busy') continue
        metrics.replaysSent.inc(sent.count)
        await noteTrouble(pool, runId, null)
        log.info({ run: runId, ...sent }, 'replay sent')
      } catch (error) {
        const isStopped = isOfRecord(error)
        isFine &&= isStopped
        metrics.replayFailures.inc()
        log.warn({ run: runId, error: describeError(error), isStopped }, 'a replay does not get on')
        await noteTrouble(pool, runId, sayTrouble(error), isStopped)
      }
    }
    return isFine
  } finally {
    await producer.close()
  }
}

const abortOf = (signal: AbortSignal) =>
  new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined)
    signal.addEventListener('abort', () => {
      resolve(undefined)
    })
  })

/** For people who may see the run: where our brokers are is for the log. */
function sayTrouble(error: unknown): string {
  const { name, message } = describeError(error)
  return isOfRecord(error) ? `${name}: ${message}`.slice(0, 500) : name
}

/** Kafka says no to what is sent (too large, not allowed) rather than being away: the next try would hear the same. */
function isOfRecord(error: unknown): boolean {
  const { retriable, name } = error as { retriable?: unknown; name?: unknown }
  return retriable === false && name !== 'KafkaJSNumberOfRetriesExceeded'
}
