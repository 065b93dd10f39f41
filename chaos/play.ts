import { existsSync, readFileSync } from 'node:fs'
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
import { startLoad } from './load.ts'
import { runNemesis } from './nemesis.ts'
import { untilDrained } from './system/until-drained.ts'
import { PARTITIONS, startWorld, type World } from './system/world.ts'

export interface PlayOptions {
  readonly dir: string
  readonly appId: string
  readonly seed: number
  readonly minutes: number
  readonly ordersPerSec: number
}

/** Of the machine, not of the plan. */
export const STALL = 'stall_of_the_machine'

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

const WARM_UP_MS = 5_000
/** The senders' own retries go on after the last fault. */
const SENDERS_MS_MAX = 300_000
const DRAIN_MS_MAX = 120_000
const SAMPLE_MS = 2_000
/** A gateway has 4 s from a request's first byte; the rest is the way there and back through a proxy, as a sender sees it. */
const ANSWER_MS_MAX = 4_250

/** Starts the system, plays load and faults, heals, waits for rest, writes everything down and has it checked. */
export async function play(options: PlayOptions): Promise<Played> {
  const { dir, appId, seed, minutes } = options
  const random = randomOf(seed)
  const world = await step(
    'starting 3 brokers, Postgres, registry, 2 gateways, 3 processors and the api',
    'about 40 s',
    () => startWorld(dir, appId),
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
    const stalls = watchStalls(world.gatewayUrls)
    const load = startLoad(world, { seed, ordersPerSec: options.ordersPerSec, seconds: Math.ceil(minutes * 60) })
    await sleep(WARM_UP_MS)
    const faults = await runNemesis(world, random, performance.now() + minutes * 60_000 - WARM_UP_MS)
    const senderExit = await step('all healed; the senders finish', 'up to 3 minutes', () =>
      Promise.race([load.done, sleep(SENDERS_MS_MAX, -1, { ref: false })]),
    )
    const drained = await untilDrained(world.lanes, PARTITIONS, DRAIN_MS_MAX)
    if (drained.kind === 'late') say(`  not drained: ${JSON.stringify(drained.lanes)}`)
    await follower.stop()
    const taken = samples.stop()
    const stalled = [...stalls.stop(), ...stallsOfGateways(world)]
    const ownEnds = [...world.gateways, ...world.processors, world.api].reduce((sum, one) => sum + one.restarts(), 0)
    const { databaseUrl, kafka, registry, topicPrefix } = world
    await step('writing it down with tools that are not ours', 'about 20 s', () =>
      captureRun(
        {
          about: {
            appId,
            topicPrefix,
            partitions: PARTITIONS,
            limits: { answerMsMax: ANSWER_MS_MAX, recoveryMsP95: 30_000, rssBytesMax: 600_000_000 },
          },
          ...{ brokers: kafka.brokers, databaseUrl, registryUrl: registry.url },
          nodes: kafka.nodes.map(({ name, dataDir }) => ({ name, dataDir })),
          ...{
            simulationLog: load.logFile,
            merchantsDir: join(dir, 'merchants'),
            logDir: join(dir, 'logs'),
            probe,
            faults: [...faults, ...stalled],
          },
          ...{ secrets: [{ name: 'api token', value: world.token }], samples: taken },
        },
        join(dir, 'capture'),
      ),
    )
    const capture = readCapture(join(dir, 'capture'))
    const verdict = await step('checking', 'about a minute', () => check(capture))
    const drainMs = drained.kind === 'drained' ? drained.ms : null
    return {
      verdict,
      capture,
      faults,
      missing,
      ownEnds,
      drainMs,
      senderExit,
      seconds: (performance.now() - startedMs) / 1_000,
    }
  } finally {
    await step('stopping', 'about 5 s', world.stop)
  }
}

const TICK_MS = 50
const STALL_MS = 150

/**
 * The senders' proxies live in this process: when it gets no turn on a crowded machine, what passes them is late, as by a
 * toxic. That is no fault of the run's plan, and no gateway's.
 */
function watchStalls(urls: readonly string[]) {
  const lines: FaultLine[] = []
  let last = performance.now()
  const timer = setInterval(() => {
    const lateMs = performance.now() - last - TICK_MS
    last = performance.now()
    if (lateMs < STALL_MS) return
    const untilMs = Date.now()
    const observed = `${Math.round(lateMs)} ms without a turn`
    lines.push({ kind: STALL, target: 'proxies', fromMs: untilMs - lateMs, untilMs, observed, hinders: urls })
  }, TICK_MS)
  return {
    stop: () => {
      clearInterval(timer)
      return lines
    },
  }
}

/** The same of the gateways, as each process itself has seen it; a stop that was made on purpose is among them. */
function stallsOfGateways({ gateways, gatewayUrls }: World): FaultLine[] {
  return gateways.flatMap(({ name, clockFile }, n) => {
    const file = `${clockFile}.stalls`
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
    return lines.flatMap((line): FaultLine[] => {
      if (line === '') return []
      const { fromMs, untilMs } = JSON.parse(line) as { fromMs: number; untilMs: number }
      const observed = `${Math.round(untilMs - fromMs)} ms without a turn`
      return [{ kind: STALL, target: name, fromMs, untilMs, observed, hinders: gatewayUrls.slice(n, n + 1) }]
    })
  })
}

function sample(world: World) {
  const samples: { name: string; atMs: number; rssBytes: number }[] = []
  const timer = setInterval(() => {
    for (const one of [...world.gateways, ...world.processors, world.api]) {
      const rssBytes = one.rssBytes()
      if (rssBytes !== undefined) samples.push({ name: one.name, atMs: Date.now(), rssBytes })
    }
  }, SAMPLE_MS)
  return {
    stop: () => {
      clearInterval(timer)
      return samples
    },
  }
}
