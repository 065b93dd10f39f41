import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { cli, prepare, startService, type Service } from '../../dev/demo/system.ts'
import { watchLanes } from '../../dev/demo/lanes.ts'
import { javaFollow, type JavaRecord } from '../../dev/parts/java-topics.ts'
import { createDatabase } from '../../dev/parts/postgres.ts'
import type { Stack } from '../../dev/parts/stack.ts'
import { createKeys } from '../../src/simulator/create-keys.ts'
import { planOf } from '../../src/simulator/plan.ts'
import { runSimulation } from '../../src/simulator/start.ts'
import { captureRun } from '../capture-run.ts'
import { OUTPUTS } from '../checker/capture.ts'
import { LIMITS } from '../limits.ts'
import { CLOCK_STEP } from './managed.ts'
import { figuresOf } from './sample.ts'
import { untilDrained } from './until-drained.ts'
import { stallsIn, watchStalls } from './watch-stalls.ts'

export interface SmallOptions {
  readonly stack: Stack
  readonly dir: string
  readonly seed: number
  readonly orders: number
  /** Instead of the product's own. */
  readonly processorMain?: string
  readonly env?: Readonly<Record<string, string>>
  /** Called with the processors while the load is on; `seen` tells how many events workers have seen. */
  readonly meddle?: (processors: readonly Service[], seen: () => number) => Promise<void>
  readonly drainMs?: number
}

const PARTITIONS = 3
/** Two cores at work on something else take their time. */
const DRAIN_MS_MAX = 120_000
const MERCHANTS = ['flowershop', 'bookshop'] as const

/** Plays a small load on a stack of its own and writes it down for the checker. @returns the capture's folder */
export async function playSmall(options: SmallOptions): Promise<string> {
  const { stack, dir } = options
  const { KAFKA_BROKERS: brokers, SCHEMA_REGISTRY_URL: registryUrl } = stack.env
  const appId = `c${Date.now().toString(36)}${randomBytes(2).toString('hex')}`
  const topicPrefix = `${appId}.`
  const databaseUrl = await createDatabase(stack.env.DATABASE_URL, appId)
  const directories = { merchantsDir: join(dir, 'merchants'), sendersDir: join(dir, 'senders') }
  const env = {
    ...process.env,
    ...stack.env,
    ...{ DATABASE_URL: databaseUrl, APP_ID: appId, TOPIC_PREFIX: topicPrefix },
    ...{
      MERCHANTS_DIR: directories.merchantsDir,
      SESSION_TIMEOUT_MS: '2000',
      WAKE_INTERVAL_MS: '500',
      LOG_LEVEL: 'info',
    },
    ...options.env,
  }
  const logDir = join(dir, 'logs')
  const start = (name: string, main = `src/${name.replace(/-\d+$/, '')}/main.ts`) =>
    startService({ name, main, preload: CLOCK_STEP, env: { ...env, CLOCK_FILE: clockFile(name) }, logDir })
  const clockFile = (name: string) => join(dir, `${name}.clock`)
  const keys = await createKeys(directories, MERCHANTS, new Date())
  await prepare(env, PARTITIONS)
  const made = await cli(env, 'token', 'create', '--name', 'chaos', '--role', 'admin', '--output', 'json')
  const { token } = JSON.parse(made) as { token: string }
  const lanes = await watchLanes({ brokers, databaseUrl, appId, topicPrefix })
  const probe: JavaRecord[] = []
  const topics = OUTPUTS.map((topic) => topicPrefix + topic)
  const follower = await javaFollow(brokers, topics, (record) => void probe.push(record))
  const services = await Promise.all([
    ...[start('gateway'), start('api')],
    ...[start('processor-1', options.processorMain), start('processor-2', options.processorMain)],
  ])
  try {
    const [gateway, api, ...processors] = services
    if (gateway === undefined || api === undefined) throw new Error('nothing started')
    // The senders live in this process.
    const senders = watchStalls('senders', [gateway.url])
    const meddling = options.meddle?.(processors, () => probe.length)
    await runSimulation({
      orders: planOf({
        ...{ seed: options.seed, runId: appId.slice(-8), merchants: MERCHANTS, orders: options.orders },
        ...{ deliveriesPerOrder: 3, spreadMs: 4_000, againMs: 1_500, reportShare: 0.3, slowShare: 0 },
      }),
      ...{ keys, gateways: [gateway.url], api: { url: api.url, token }, logFile: join(dir, 'simulation.jsonl') },
    })
    await meddling
    const stalls = [...senders.stop(), ...stallsIn(clockFile('gateway'), 'gateway', [gateway.url])]
    await untilDrained(lanes, PARTITIONS, options.drainMs ?? DRAIN_MS_MAX)
    await follower.stop()
    const atMs = Date.now()
    const samples = (await figuresOf(gateway)).map((one) => ({ ...one, atMs }))
    await Promise.all(services.map((service) => service.stop()))
    const capture = join(dir, 'capture')
    await captureRun(
      {
        ...{
          about: { appId, topicPrefix, partitions: PARTITIONS, limits: LIMITS },
          brokers,
          databaseUrl,
          registryUrl,
        },
        nodes: stack.kafka.nodes.map(({ name, dataDir }) => ({ name, dataDir })),
        ...{ simulationLog: join(dir, 'simulation.jsonl'), merchantsDir: directories.merchantsDir, logDir, probe },
        // Of a clean run only: what an operator sees takes half a minute of a core.
        ...(options.processorMain === undefined ? { env } : {}),
        ...{ faults: stalls, samples, metrics: [], secrets: [{ name: 'api token', value: token }] },
      },
      capture,
    )
    return capture
  } finally {
    await lanes.close()
    await Promise.all(services.map((service) => service.stop()))
  }
}
