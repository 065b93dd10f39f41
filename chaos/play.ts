import { cpSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { javaFollow, type JavaRecord } from '../dev/parts/java-topics.ts'
import { say, step } from '../dev/parts/progress.ts'
import { randomOf } from '../src/simulator/random.ts'
import { captureRun } from './capture-run.ts'
import { check, type Verdict } from './checker/check.ts'
import { readCapture } from './checker/read-capture.ts'
import type { Capture, FaultLine } from './checker/capture.ts'
import { FAULTS } from './faults/catalogue.ts'
import { LIMITS } from './limits.ts'
import { startLoad } from './load.ts'
import { runNemesis } from './nemesis.ts'
import { sample } from './system/sample.ts'
import { shippedOnce } from './system/shipped-once.ts'
import { shippedBy } from './system/shipping.ts'
import { untilAsked } from './system/asking.ts'
import { untilDrained } from './system/until-drained.ts'
import { stallsOfProcesses, watchStalls } from './system/watch-stalls.ts'
import { PARTITIONS, startWorld } from './system/world.ts'

export interface PlayOptions {
  readonly dir: string
  readonly appId: string
  readonly seed: number
  readonly minutes: number
  readonly ordersPerSec: number
}

export interface Played {
  readonly verdict: Verdict
  readonly capture: Capture
  readonly faults: readonly FaultLine[]
  /** Kinds that cannot be made on this machine, with the reason. */
  readonly missing: readonly { readonly kind: string; readonly why: string }[]
  /** How often the supervisor had to start a process that nobody had killed. */
  readonly ownEnds: number
  readonly drainMs: number | null
  readonly senderExit: number
  readonly seconds: number
}

const MINUTE_SEC = 60
/** Of the run: then new keys sign too, after twice that alone, and after three times the old ones are at their end. */
const KEYS_CHANGE_AFTER = 0.25
/** Without faults. */
const WARM_UP_MS = 20_000
/** The senders' own retries go on after the last fault. */
const SENDERS_MS_MAX = 300_000
const SENDERS_END_MS_MAX = 30_000
const ASKED_MS_MAX = 90_000
const DRAIN_MS_MAX = 120_000
const SHIPPED_MS_MAX = 90_000

/** Starts the system, plays load and faults, heals, waits for rest, writes everything down and has it checked. */
export async function play(options: PlayOptions): Promise<Played> {
  const { dir, appId, seed, minutes } = options
  const random = randomOf(seed)
  const world = await step(
    'starting 3 brokers, Postgres, registry, 2 gateways, 3 processors, the api, a reconciler and a worker',
    'about 40 s',
    () => startWorld(dir, appId, minutes * MINUTE_SEC * KEYS_CHANGE_AFTER),
  )
  const missing = FAULTS.flatMap(({ kind, missing: why }) => {
    const reason = why?.(world)
    return reason === undefined ? [] : [{ kind, why: reason }]
  })
  const startedMs = performance.now()
  try {
    const probe: JavaRecord[] = []
    const outputs = world.topics.slice(1)
    const follower = await javaFollow(world.kafka.brokers, outputs, (record) => void probe.push(record))
    const samples = sample(world)
    const stalls = watchStalls('proxies', world.gatewayUrls)
    const startedLoadMs = performance.now()
    const load = startLoad(world, {
      seed,
      ordersPerSec: options.ordersPerSec,
      seconds: Math.ceil(minutes * MINUTE_SEC),
    })
    await sleep(WARM_UP_MS)
    const faults = await runNemesis(world, random, startedLoadMs + minutes * MINUTE_SEC * 1_000)
    await step('all healed; the senders finish', 'up to 3 minutes', () =>
      Promise.race([load.sent, sleep(SENDERS_MS_MAX, undefined, { ref: false })]),
    )
    const unasked = await step('the reconciler asks about what is pending', 'about 20 s', () =>
      untilAsked(world.databaseUrl, ASKED_MS_MAX),
    )
    if (unasked > 0) say(`  about ${unasked} orders nobody has asked`)
    // What it tells would come in for ever.
    await world.reconciler.end('SIGTERM')
    const senderExit = await Promise.race([load.end(), sleep(SENDERS_END_MS_MAX, -1, { ref: false })])
    const drained = await untilDrained(world.lanes, PARTITIONS, DRAIN_MS_MAX)
    if (drained.kind === 'late') say(`  not drained: ${JSON.stringify(drained.lanes)}`)
    await follower.stop()
    const shipped = await step('the worker ships what is left', 'some seconds', () =>
      shippedBy(world, probe, SHIPPED_MS_MAX),
    )
    const taken = samples.stop()
    const stalled = [...stalls.stop(), ...stallsOfProcesses(world)]
    const ownEnds = world.processes.reduce((sum, one) => sum + one.restarts(), 0)
    const { databaseUrl, kafka, registry, topicPrefix } = world
    await step('writing it down with tools that are not ours', 'about 20 s', () =>
      captureRun(
        {
          about: {
            appId,
            topicPrefix,
            partitions: PARTITIONS,
            limits: LIMITS,
          },
          ...{ env: world.env, brokers: kafka.brokers, databaseUrl, registryUrl: registry.url },
          nodes: kafka.nodes.map(({ name, dataDir }) => ({ name, dataDir })),
          ...{
            simulationLog: load.logFile,
            merchantsDir: join(dir, 'merchants'),
            logDir: join(dir, 'logs'),
            probe,
            faults: [...faults, ...stalled],
          },
          ...{ secrets: world.secrets, samples: taken },
          metrics: world.processes.map(({ name, metricsUrl }) => ({
            ...{ name, url: `${metricsUrl}/metrics` },
          })),
        },
        join(dir, 'capture'),
      ),
    )
    const capture = readCapture(join(dir, 'capture'))
    const verdict = await step('checking', 'about a minute', () => check(capture))
    writeFileSync(join(dir, 'capture', 'shipped.json'), JSON.stringify(shipped, undefined, 1))
    const ofWorker = shippedOnce(capture, shipped)
    const drainMs = drained.kind === 'drained' ? drained.ms : null
    return {
      verdict: {
        ok: verdict.ok && Object.keys(ofWorker.violated).length === 0,
        oracles: [...verdict.oracles, ofWorker],
      },
      capture,
      faults,
      missing,
      ownEnds,
      drainMs,
      senderExit,
      seconds: (performance.now() - startedMs) / 1_000,
    }
  } finally {
    // It lies on the disk that goes.
    const postgresLog = 'dir' in world.disk ? join(world.disk.dir, 'data', 'postgres.log') : ''
    if (existsSync(postgresLog)) cpSync(postgresLog, join(dir, 'postgres.log'))
    await step('stopping', 'about 5 s', world.stop)
  }
}
