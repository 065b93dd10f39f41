import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import cliProgress from 'cli-progress'
import pg from 'pg'
import { createTopicAdmin } from '../../src/runtime/kafka/topic-admin.ts'
import { createLog } from '../../src/runtime/log.ts'
import { FULFILLMENT_TOPICS, inputGroup, ledgerGroup, SHIPMENT_TOPIC, TOPICS } from '../../src/schemas/topics.ts'
import { expectedOf, type Expected } from '../../src/simulator/expected.ts'
import { createKeys } from '../../src/simulator/create-keys.ts'
import { pointQueriesAt } from '../../src/simulator/create-query-keys.ts'
import { readLog } from '../../src/simulator/log.ts'
import { planOf } from '../../src/simulator/plan.ts'
import { runSimulation } from '../../src/simulator/start.ts'
import type { Tally } from '../../src/simulator/tally.ts'
import { javaRead } from '../parts/java-topics.ts'
import { choosePort } from '../parts/ports.ts'
import { createDatabase } from '../parts/postgres.ts'
import { say, step } from '../parts/progress.ts'
import type { StackEnv } from '../parts/state.ts'
import { followEvents, type Follower } from './follow-events.ts'
import { killAtTheWorstMoment } from './kill-processor.ts'
import { watchLanes, type LaneState, type LaneWatch } from './lanes.ts'
import { silence, untilHeardOf, withSilent } from './silent-orders.ts'
import { cli, metric, metricBy, prepare, startService, type Service } from './system.ts'
import { tamper, type Tampering } from './tamper.ts'
import { seenEvent, type SeenEvent } from './verdict.ts'
import { startWorkers, type WorkerCounts, type Workers } from './workers.ts'

export interface PlayOptions {
  readonly stack: StackEnv
  readonly runId: string
  readonly dir: string
  readonly orders: number
  readonly deliveries: number
  readonly seed: number
  readonly tampering: Tampering | undefined
}

/** All that a run showed, before it is judged. */
export interface Played {
  readonly tally: Tally
  readonly expected: Expected
  readonly seen: readonly SeenEvent[]
  readonly killedLanes: readonly LaneState[]
  readonly takeovers: number
  readonly refusedByReason: ReadonlyMap<string, number>
  readonly outcomes: ReadonlyMap<string, number>
  readonly answersMs: readonly number[]
  readonly eventsMs: readonly number[]
  readonly workers: WorkerCounts
  /** Orders whose callbacks were all lost, and how often providers were asked about any. */
  readonly silent: number
  readonly asked: number
}

const PARTITIONS = 6
const MERCHANTS = ['flowershop', 'bookshop'] as const
/** Two big ones, as in life, and a few of every other. */
const PROVIDERS = { wechatpay: 0.4, alipay: 0.4, 'wechatpay-v2': 0.08, stripe: 0.08, 'standard-webhooks': 0.04 }
/** What is left of the stories makes an order's whole life: the payment's three events, or none. */
const PAYMENTS_ONLY = {
  ...{ refunded_partly: 0, refunded_fully: 0, refund_first: 0, refund_failed: 0, closed: 0, late_success: 0 },
  ...{ payment_failed: 0, disputed: 0, waiting: 0, finished: 0 },
}
/** Of the deliveries, when the processor dies, and when the worker that ships does. */
const KILL_AT = 0.4
const KILL_WORKER_AT = 0.7
const DRAIN_MS_MAX = 90_000
/** Much longer than it takes: a demo on a loaded machine is to end well, too. */
const HEARD_MS_MAX = 240_000
const READ_MS_MAX = 120_000
/** After the last callback is due, an order that is still pending is asked about. */
const ASK_AFTER_MS = 5_000
/** Short, so that the survivors need not wait the default of 10 s for a dead processor's lanes. */
const SESSION_MS = 3_000

export async function play(options: PlayOptions): Promise<Played> {
  const { stack, runId, dir, tampering } = options
  const topicPrefix = `${runId}.`
  const databaseUrl = await createDatabase(stack.DATABASE_URL, runId)
  const directories = {
    ...{ merchantsDir: join(dir, 'merchants'), sendersDir: join(dir, 'senders') },
    queriesDir: join(dir, 'queries'),
  }
  const env = {
    ...process.env,
    ...stack,
    ...{ DATABASE_URL: databaseUrl, APP_ID: runId, TOPIC_PREFIX: topicPrefix, MERCHANTS_DIR: directories.merchantsDir },
    ...{ SESSION_TIMEOUT_MS: String(SESSION_MS), LOG_LEVEL: 'info' },
    ...(tampering === 'own-rows' ? { DEMO_MUTANT: 'own_rows' } : {}),
  }
  const start = (name: string, main: string, more: NodeJS.ProcessEnv = {}) =>
    startService({ name, main, env: { ...env, ...more }, logDir: join(dir, 'logs') })
  const total = options.orders * options.deliveries
  const spreadMs = Math.max(10_000, total * 2)
  // Where all callbacks have come nobody needs to be asked.
  const askMs = spreadMs + ASK_AFTER_MS
  const services: Service[] = []
  let follower: Follower | undefined
  let workers: Workers | undefined
  const ending = new AbortController()
  const lanes = await watchLanes({ brokers: stack.KAFKA_BROKERS, databaseUrl, appId: runId, topicPrefix })
  try {
    const keys = await createKeys(directories, MERCHANTS, new Date())
    const queryPort = await choosePort()
    pointQueriesAt(directories.queriesDir, `http://127.0.0.1:${queryPort}`, { requestsPerSec: 1_000 })
    const token = await step('creating tables, topics and schemas', 'about 5 s', async () => {
      await prepare(env, PARTITIONS)
      const made = await cli(env, 'token', 'create', '--name', 'demo', '--role', 'admin', '--output', 'json')
      return (JSON.parse(made) as { token: string }).token
    })
    const [gateway1, gateway2, victim, survivor, api, reconciler] = await step(
      'starting 2 gateways, 2 processors, the api and the reconciler',
      'about 5 s',
      () =>
        Promise.all([
          start('gateway-1', 'src/gateway/main.ts'),
          start('gateway-2', 'src/gateway/main.ts'),
          start('processor-1', 'dev/demo/processor.ts'),
          start('processor-2', 'dev/demo/processor.ts'),
          start('api', 'src/api/main.ts'),
          start('reconciler', 'src/reconcile/main.ts', {
            ...{ QUERY_KEYS_DIR: directories.queriesDir, QUERY_FIRST_MS: String(askMs), QUERY_SPREAD_MS: '500' },
          }),
        ]),
    )
    services.push(gateway1, gateway2, victim, survivor, api, reconciler)
    const topics = FULFILLMENT_TOPICS.map((topic) => topicPrefix + topic)
    const crew = await step(
      'starting a carrier and the example workers: shipment, inventory, points',
      'about 5 s',
      async () =>
        startWorkers({
          ...{ env, runId, dir, keys, gatewayUrl: gateway2.url, seed: options.seed },
          databaseUrl: await createDatabase(stack.DATABASE_URL, `${runId}_workers`),
        }),
    )
    workers = crew
    follower = await followEvents(stack.KAFKA_BROKERS, topics, topicPrefix)

    const logFile = join(dir, 'simulation.jsonl')
    const bar = progressBar(total)
    let killing: Promise<LaneState[]> | undefined
    let killingWorker: Promise<Service> | undefined
    const plan = planOf({
      ...{ seed: options.seed, runId: runId.slice(-8), merchants: MERCHANTS, orders: options.orders },
      ...{ deliveriesPerOrder: options.deliveries, spreadMs, againMs: 5_000 },
      ...{ reportShare: 0, returnShare: 0, slowShare: 0, stories: PAYMENTS_ONLY, providers: PROVIDERS },
    })
    const orders = silence(plan, options.seed)
    const silent = orders.filter(({ isSilent }) => isSilent === true)
    const tally = await runSimulation({
      orders,
      keys,
      queries: { port: queryPort, until: untilHeardOf(databaseUrl, silent, 3 * askMs + HEARD_MS_MAX, ending.signal) },
      gateways: [gateway1.url, gateway2.url],
      api: { url: api.url, token },
      logFile,
      onProgress: ({ deliveries }) => {
        bar.update(deliveries)
        if (deliveries >= total * KILL_AT) killing ??= killAtTheWorstMoment(victim, lanes)
        if (deliveries >= total * KILL_WORKER_AT) killingWorker ??= crew.killShipment()
      },
    })
    bar.stop()
    const killedLanes = (await killing) ?? []
    await killingWorker
    const reborn = await step('starting the killed processor again', 'about 2 s', () =>
      start('processor-1-again', 'dev/demo/processor.ts'),
    )
    services.push(reborn)
    await step('waiting until every lane is read and emitted', 'about 10 s', () => drained(lanes))
    await follower.stop()
    if (tampering !== undefined) {
      say(`  breaking the result on purpose: ${tampering}`)
      await tamper(tampering, stack.KAFKA_BROKERS, topicPrefix + SHIPMENT_TOPIC)
    }
    const records = await step('reading every topic as a read_committed Java consumer', 'about 3 s', () =>
      javaRead({ brokers: stack.KAFKA_BROKERS, topics, deadlineMs: READ_MS_MAX }),
    )
    await step('waiting until the workers have done and reported it all', 'about 10 s', async () => {
      await crew.drained(new Set(records.map((record) => seenEvent(record, topicPrefix).eventId)).size)
      await drained(lanes)
    })
    const log = readLog(logFile)
    return {
      ...{ tally, killedLanes, expected: withSilent(expectedOf(log), log, silent) },
      ...{ silent: silent.length, asked: await metric(reconciler, 'paidonce_query_asked_total') },
      seen: records.map((record) => seenEvent(record, topicPrefix)),
      takeovers:
        (await metric(survivor, 'paidonce_takeovers_total')) + (await metric(reborn, 'paidonce_takeovers_total')),
      refusedByReason: sum(
        await Promise.all(
          [gateway1, gateway2].map((gateway) => metricBy(gateway, 'paidonce_gateway_refusals_total', 'reason')),
        ),
      ),
      outcomes: await outcomesOf(databaseUrl),
      answersMs: log.flatMap((line) => (line.line === 'delivery' && line.heard === 'success' ? [line.latencyMs] : [])),
      eventsMs: follower.latenciesMs,
      workers: await crew.counts(),
    }
  } finally {
    ending.abort()
    await follower?.stop()
    await lanes.close()
    await workers?.close()
    await Promise.all(services.map((service) => service.stop()))
    await dropAll(stack, runId, topicPrefix)
  }
}

/** A stack that others use too is left as it was found. */
async function dropAll(stack: StackEnv, runId: string, topicPrefix: string): Promise<void> {
  const admin = createTopicAdmin({ brokers: stack.KAFKA_BROKERS.split(','), ssl: false }, createLog('demo', 'silent'))
  const client = new pg.Client({ connectionString: stack.DATABASE_URL })
  try {
    await admin.deleteTopics(TOPICS.map((topic) => topicPrefix + topic))
    const workers = ['shipment', 'inventory', 'points'].map((name) => `${runId}-${name}`)
    await admin.deleteGroups([inputGroup(runId), ledgerGroup(runId), ...workers])
    await client.connect()
    for (const name of [runId, `${runId}_workers`]) await client.query(`drop database if exists ${name} with (force)`)
  } catch (error) {
    say(`  topics and database of ${runId} stay: ${String(error)}`)
  } finally {
    await admin.close()
    await client.end()
  }
}

async function drained(lanes: LaneWatch): Promise<void> {
  const deadline = performance.now() + DRAIN_MS_MAX
  for (;;) {
    const now = await lanes.read()
    if (now.length === PARTITIONS && now.every(({ lag, nextSeq, ledger }) => lag === 0 && nextSeq === ledger)) return
    if (performance.now() > deadline) {
      say(`  not drained after ${DRAIN_MS_MAX / 1000} s: ${JSON.stringify(now)}`)
      return
    }
    await sleep(100)
  }
}

/** What the processors' history says of the records: for the table, not for the verdict. */
async function outcomesOf(databaseUrl: string): Promise<Map<string, number>> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ outcome: string; count: string }>(
      'select outcome, count(*) from deliveries group by outcome order by outcome',
    )
    return new Map(rows.map(({ outcome, count }) => [outcome, Number(count)]))
  } finally {
    await client.end()
  }
}

function sum(maps: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const all = new Map<string, number>()
  for (const map of maps) for (const [key, value] of map) all.set(key, (all.get(key) ?? 0) + value)
  return all
}

function progressBar(total: number): { update: (done: number) => void; stop: () => void } {
  const format = '  {bar} {percentage} % | {value} of {total} deliveries | {duration_formatted}'
  const bar = new cliProgress.SingleBar(
    { format, noTTYOutput: true, notTTYSchedule: 5_000, stream: process.stderr },
    cliProgress.Presets.shades_classic,
  )
  bar.start(total, 0)
  return { update: (done) => bar.update(Math.min(done, total)), stop: () => bar.stop() }
}
