import { join } from 'node:path'
import type { LaneWatch } from '../../dev/demo/lanes.ts'
import { watchLanes } from '../../dev/demo/lanes.ts'
import { cli, prepare } from '../../dev/demo/system.ts'
import { startKafka, type KafkaCluster } from '../../dev/parts/kafka.ts'
import { createDatabase, startPostgres, type Postgres } from '../../dev/parts/postgres.ts'
import { choosePort } from '../../dev/parts/ports.ts'
import { REGISTRY_DATABASE, startRegistry, type SchemaRegistry } from '../../dev/parts/registry.ts'
import { createKeys, queriesDirOf } from '../../src/simulator/create-keys.ts'
import { pointQueriesAt } from '../../src/simulator/create-query-keys.ts'
import { rotationFrom } from '../../src/simulator/key-ring.ts'
import { INPUT, OUTPUTS } from '../checker/capture.ts'
import { startProxy, type Proxy } from '../proxy/tcp-proxy.ts'
import { manage, type Managed } from './managed.ts'
import { ASKING, queryKeys } from './asking.ts'
import { startShipping, type Shipping } from './shipping.ts'
import { mountSmallDisk, type SmallDisk } from './small-disk.ts'

/** The whole system as processes, with a proxy on every link. */
export interface World {
  readonly dir: string
  readonly appId: string
  readonly topicPrefix: string
  readonly inputTopic: string
  readonly topics: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly token: string
  readonly secrets: readonly { readonly name: string; readonly value: string }[]
  readonly kafka: KafkaCluster
  readonly postgres: Postgres
  readonly registry: SchemaRegistry
  /** Or why there is none. */
  readonly disk: SmallDisk | { readonly refused: string }
  /** The same as the processes have it, past the proxies. */
  readonly databaseUrl: string
  readonly gateways: readonly Managed[]
  readonly processors: readonly Managed[]
  /** One more of these, which runs only when a fault wants it. */
  readonly spare: Managed
  readonly api: Managed
  /** An example worker: it ships what the events tell it to, with a carrier that is not idempotent. */
  readonly worker: Managed
  /** Asks the providers about orders of which nobody has told anything. */
  readonly reconciler: Managed
  /** Where the providers are to answer it: in the senders' process. */
  readonly queryPort: number
  /** All of them. */
  readonly processes: readonly Managed[]
  readonly carrier: Shipping['carrier']
  /** Of the worker, past the proxies. */
  readonly workerDatabaseUrl: string
  /** Where senders post: the gateways' proxies, in their order. */
  readonly gatewayUrls: readonly string[]
  /** By link: `senders-1`, `gateway-kafka`, `processor-kafka`, `postgres`. */
  readonly links: ReadonlyMap<string, readonly Proxy[]>
  readonly lanes: LaneWatch
  readonly stop: () => Promise<void>
}

export const PARTITIONS = 6
export const MERCHANTS = ['flowershop', 'bookshop'] as const
export const SESSION_MS = 6_000
const NODES = 3
/**
 * As in a small container. With all of the machine's memory a heap of theirs of 27 MiB lets 90 MiB of garbage gather
 * within three minutes (measured at 20 orders/s), which looks as if it grew.
 */
const SMALL_HEAP = { NODE_OPTIONS: '--max-semi-space-size=4 --max-old-space-size=128' }
/** More, as 150 callbacks are in flight at once; one without it went from 155 to 187 MiB in its third minute, and stayed. */
const GATEWAYS_HEAP = { NODE_OPTIONS: '--max-semi-space-size=4 --max-old-space-size=192' }

/** @param keysChangeSec from now until new keys sign, beside the old ones at first */
export async function startWorld(dir: string, appId: string, keysChangeSec: number): Promise<World> {
  const stops: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const end of stops.toReversed()) await end().catch(() => undefined)
  }
  try {
    const disk = await mountSmallDisk(join(dir, 'disk'))
    if ('remove' in disk) stops.push(disk.remove)
    const kafka = await startKafka({
      ...{ dir, nodes: NODES, links: ['gateway', 'processor'] },
      settings: ['num.network.threads=1', 'num.io.threads=2', 'controlled.shutdown.enable=true'],
    })
    for (const node of kafka.nodes) stops.push(() => node.kill())
    const postgres = await startPostgres({
      dir: 'dir' in disk ? join(disk.dir, 'data') : dir,
      settings: ['max_wal_size=256MB', 'shared_buffers=128MB'],
    })
    stops.push(() => postgres.kill())
    // Its schemas outlive it: a registry that forgets would be another fault, and nobody's promise covers it.
    await createDatabase(postgres.url, REGISTRY_DATABASE)
    const registry = await startRegistry({ dir, postgresUrl: postgres.url })
    stops.push(() => registry.kill())

    const databaseUrl = await createDatabase(postgres.url, appId)
    const links = new Map<string, Proxy[]>()
    const link = async (name: string, from: number, to: number) => {
      const proxy = await startProxy(name, from, to)
      stops.push(proxy.close)
      links.set(name, [...(links.get(name) ?? []), proxy])
      return proxy
    }
    for (const node of kafka.nodes)
      for (const [role, { listen, advertised }] of Object.entries(node.links))
        await link(`${role}-kafka`, advertised, listen)
    const toPostgres = await link('postgres', await choosePort(), Number(new URL(postgres.url).port))
    const workerDatabaseUrl = await createDatabase(postgres.url, `${appId}_worker`)
    const proxied = (url: string) => Object.assign(new URL(url), { port: String(toPostgres.port) }).href
    const brokersOf = (role: string) =>
      kafka.nodes.map((node) => `127.0.0.1:${node.links[role]?.advertised ?? 0}`).join(',')

    const directories = { merchantsDir: join(dir, 'merchants'), sendersDir: join(dir, 'senders') }
    const now = new Date()
    await createKeys(directories, MERCHANTS, now, { rotation: rotationFrom(now, keysChangeSec) })
    const queryPort = await choosePort()
    pointQueriesAt(queriesDirOf(directories), `http://127.0.0.1:${queryPort}`, { requestsPerSec: 1_000 })
    const topicPrefix = `${appId}.`
    const env = {
      ...process.env,
      ...{ KAFKA_BROKERS: kafka.brokers, SCHEMA_REGISTRY_URL: registry.url, DATABASE_URL: databaseUrl },
      ...{ APP_ID: appId, TOPIC_PREFIX: topicPrefix, MERCHANTS_DIR: directories.merchantsDir },
      ...{ SESSION_TIMEOUT_MS: String(SESSION_MS), LOG_LEVEL: 'info', ALLOW_SINGLE_REPLICA: '0' },
    }
    await prepare(env, PARTITIONS)
    const made = await cli(env, 'token', 'create', '--name', 'chaos', '--role', 'admin', '--output', 'json')
    const { token } = JSON.parse(made) as { token: string }
    const secrets = [{ name: 'api token', value: token }, ...queryKeys(queriesDirOf(directories))]

    const make = async (name: string, main: string, more: NodeJS.ProcessEnv) => {
      const managed = await manage({ name, main, env: { ...env, ...more }, dir })
      stops.push(() => managed.end('SIGKILL'))
      return managed
    }
    const start = async (...args: Parameters<typeof make>) => {
      const managed = await make(...args)
      await managed.start()
      return managed
    }
    const throughPostgres = { DATABASE_URL: proxied(databaseUrl) }
    const ofGateway = { ...GATEWAYS_HEAP, KAFKA_BROKERS: brokersOf('gateway') }
    const ofProcessor = { ...throughPostgres, KAFKA_BROKERS: brokersOf('processor') }
    const gateways = [
      await start('gateway-1', 'src/gateway/main.ts', ofGateway),
      await start('gateway-2', 'src/gateway/main.ts', ofGateway),
    ]
    const processors: Managed[] = []
    for (const n of [1, 2, 3]) processors.push(await start(`processor-${n}`, 'src/processor/main.ts', ofProcessor))
    const spare = await make('processor-4', 'src/processor/main.ts', ofProcessor)
    const api = await start('api', 'src/api/main.ts', throughPostgres)
    const { carrier, env: ofShipping } = await startShipping(appId)
    stops.push(carrier.close)
    const worker = await start('worker', 'examples/shipment/main.ts', {
      ...SMALL_HEAP,
      ...{ ...ofShipping, KAFKA_BROKERS: brokersOf('processor'), DATABASE_URL: proxied(workerDatabaseUrl) },
    })
    const reconciler = await start('reconciler', 'src/reconcile/main.ts', {
      ...{ ...throughPostgres, KAFKA_BROKERS: brokersOf('gateway'), QUERY_KEYS_DIR: queriesDirOf(directories) },
      ...{ ...ASKING, ...SMALL_HEAP },
    })
    const processes = [...gateways, ...processors, api, worker, reconciler]
    await Promise.all(processes.map((one) => one.untilReady()))
    const gatewayUrls: string[] = []
    for (const [n, gateway] of gateways.entries()) {
      const proxy = await link(`senders-${n + 1}`, await choosePort(), Number(new URL(gateway.url).port))
      gatewayUrls.push(`http://127.0.0.1:${proxy.port}`)
    }
    const lanes = await watchLanes({ brokers: kafka.brokers, databaseUrl, appId, topicPrefix })
    stops.push(lanes.close)
    return {
      ...{
        dir,
        appId,
        topicPrefix,
        inputTopic: topicPrefix + INPUT,
        env,
        token,
        secrets,
        kafka,
        postgres,
        registry,
        disk,
      },
      ...{
        databaseUrl,
        workerDatabaseUrl,
        gateways,
        processors,
        spare,
        api,
        worker,
        reconciler,
        queryPort,
        processes,
        carrier,
      },
      ...{ gatewayUrls, links, lanes, stop },
      topics: [INPUT, ...OUTPUTS].map((topic) => topicPrefix + topic),
    }
  } catch (error) {
    await stop()
    throw error
  }
}
